"""The IR of the builtins of `fastcall`; words in capitals are offsets into their tables, filled in by `fastcall`."""

from __future__ import annotations

# PyArrayObject after the object header: data 16, nd 24, dimensions 32, strides 40, base 48, descr 56, flags 64
IR = """
declare ptr @dalembert_array_new(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @dalembert_vectorcall(ptr, ptr, i64, ptr)
declare ptr @dalembert_float(double)
declare ptr @dalembert_tuple_new(i64)
declare ptr @dalembert_getitem(ptr, ptr)
declare void @dalembert_incref(ptr)
declare void @dalembert_decref(ptr)

; the data pointer of a C-contiguous, aligned array of this descr, rank, rows and columns; null if it is not one
define internal ptr @data(ptr %o, ptr %array.type, ptr %descr, i32 %rank, ptr %dims, i32 %flags) alwaysinline nounwind {
  %type.at = getelementptr i8, ptr %o, i64 8
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %no
array:
  %descr.at = getelementptr i8, ptr %o, i64 56
  %d = load ptr, ptr %descr.at
  %nd.at = getelementptr i8, ptr %o, i64 24
  %nd = load i32, ptr %nd.at
  %flags.at = getelementptr i8, ptr %o, i64 64
  %f = load i32, ptr %flags.at
  %masked = and i32 %f, %flags
  %c1 = icmp eq ptr %d, %descr
  %c2 = icmp eq i32 %nd, %rank
  %c3 = icmp eq i32 %masked, %flags
  %c12 = and i1 %c1, %c2
  %c = and i1 %c12, %c3
  br i1 %c, label %shape, label %no
shape:
  %shape.at = getelementptr i8, ptr %o, i64 32
  %have = load ptr, ptr %shape.at
  br label %each
each:
  %k = phi i32 [ 0, %shape ], [ %k.next, %same ]
  %done = icmp eq i32 %k, %rank
  br i1 %done, label %yes, label %one
one:
  %have.k = getelementptr i64, ptr %have, i32 %k
  %want.k = getelementptr i64, ptr %dims, i32 %k
  %h = load i64, ptr %have.k
  %w = load i64, ptr %want.k
  %eq = icmp eq i64 %h, %w
  br i1 %eq, label %same, label %no
same:
  %k.next = add i32 %k, 1
  br label %each
yes:
  %data.at = getelementptr i8, ptr %o, i64 16
  %p = load ptr, ptr %data.at
  ret ptr %p
no:
  ret ptr null
}

define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {
entry:
  %ins = alloca [MAX_INPUTS x ptr]
  %strides = alloca [MAX_INPUTS x i64]
  %outs = alloca [MAX_OUTPUTS x ptr]
  %dims = alloca [8 x i64]
  %number = alloca double
  %table.at = getelementptr i8, ptr %self, i64 16
  %table = load ptr, ptr %table.at
  %n.at = getelementptr i64, ptr %table, i64 INPUTS
  %n = load i64, ptr %n.at
  %right.count = icmp eq i64 %nargs, %n
  br i1 %right.count, label %counted, label %slow
counted:
  %no.keywords = icmp eq ptr %kwnames, null
  br i1 %no.keywords, label %first, label %keywords
keywords:                                        ; only `out` and `threads=1` are taken here
  %kwcount.at = getelementptr i8, ptr %kwnames, i64 16
  %kwcount = load i64, ptr %kwcount.at
  %names = getelementptr i8, ptr %kwnames, i64 TUPLE_ITEMS
  %outname.at = getelementptr i64, ptr %table, i64 OUT_KEYWORD
  %outname = load ptr, ptr %outname.at
  %threadsname.at = getelementptr i64, ptr %table, i64 THREADS_KEYWORD
  %threadsname = load ptr, ptr %threadsname.at
  %one.at = getelementptr i64, ptr %table, i64 NUMBER_ONE
  %one = load ptr, ptr %one.at
  br label %keyword
keyword:
  %m = phi i64 [ 0, %keywords ], [ %m.next, %keyword.ok ]
  %outarg.m = phi ptr [ null, %keywords ], [ %outarg.next, %keyword.ok ]
  %alone.m = phi i1 [ false, %keywords ], [ %alone.next, %keyword.ok ]
  %kw.at = getelementptr ptr, ptr %names, i64 %m
  %kw = load ptr, ptr %kw.at
  %kwarg.index = add i64 %n, %m
  %kwarg.at = getelementptr ptr, ptr %args, i64 %kwarg.index
  %kwarg = load ptr, ptr %kwarg.at
  %is.out = icmp eq ptr %kw, %outname
  %is.threads = icmp eq ptr %kw, %threadsname
  %is.one = icmp eq ptr %kwarg, %one
  %is.alone = and i1 %is.threads, %is.one
  %is.taken = or i1 %is.out, %is.alone
  br i1 %is.taken, label %keyword.ok, label %slow
keyword.ok:
  %outarg.next = select i1 %is.out, ptr %kwarg, ptr %outarg.m
  %alone.next = or i1 %alone.m, %is.alone
  %m.next = add i64 %m, 1
  %more.keywords = icmp ult i64 %m.next, %kwcount
  br i1 %more.keywords, label %keyword, label %first
first:                                           ; the first argument decides precision and rank
  %outarg = phi ptr [ null, %counted ], [ %outarg.next, %keyword.ok ]
  %alone = phi i1 [ false, %counted ], [ %alone.next, %keyword.ok ]
  %o0 = load ptr, ptr %args
  %type.at = getelementptr i8, ptr %o0, i64 8
  %type = load ptr, ptr %type.at
  %array.type.at = getelementptr i64, ptr %table, i64 ARRAY_TYPE
  %array.type = load ptr, ptr %array.type.at
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %slow
array:
  %descr.at = getelementptr i8, ptr %o0, i64 56
  %descr = load ptr, ptr %descr.at
  %nd.at = getelementptr i8, ptr %o0, i64 24
  %nd = load i32, ptr %nd.at
  %f64.at = getelementptr i64, ptr %table, i64 DOUBLE
  %f64 = load ptr, ptr %f64.at
  %f32.at = getelementptr i64, ptr %table, i64 FLOAT
  %f32 = load ptr, ptr %f32.at
  %is64 = icmp eq ptr %descr, %f64
  %is32 = icmp eq ptr %descr, %f32
  %known = or i1 %is64, %is32
  %kernels = select i1 %is64, ptr %f64.at, ptr %f32.at
  %itemsize = select i1 %is64, i64 8, i64 4
  %typenum = select i1 %is64, i32 12, i32 11
  %rank1 = icmp eq i32 %nd, 1
  %rank2 = icmp eq i32 %nd, 2
  %rank12 = or i1 %rank1, %rank2
  %ok = and i1 %known, %rank12
  br i1 %ok, label %rows, label %slow
rows:
  %batch = zext i1 %rank2 to i32
  %shape.at = getelementptr i8, ptr %o0, i64 32
  %shape = load ptr, ptr %shape.at
  %dim0 = load i64, ptr %shape
  %count = select i1 %rank2, i64 %dim0, i64 1
  %limit.at = getelementptr i64, ptr %table, i64 FAST_LIMIT
  %usual.limit = load i64, ptr %limit.at
  %long.limit = mul i64 %usual.limit, 10        ; threads=1: going through Python would only cost time
  %limit = select i1 %alone, i64 %long.limit, i64 %usual.limit
  %few = icmp ule i64 %count, %limit
  %some = icmp ne i64 %count, 0
  %sized = and i1 %few, %some
  %kernel.index = select i1 %rank2, i64 2, i64 1
  %kernel.at = getelementptr i64, ptr %kernels, i64 %kernel.index
  %kernel = load ptr, ptr %kernel.at
  %compiled = icmp ne ptr %kernel, null
  %go = and i1 %sized, %compiled
  store i64 %count, ptr %dims
  %column = getelementptr i64, ptr %dims, i32 %batch
  br i1 %go, label %inputs, label %slow
inputs:
  %k = phi i64 [ 0, %rows ], [ %k.next, %input.ok ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %input, label %result
input:
  %size.word = add i64 %k, SIZES
  %size.at = getelementptr i64, ptr %table, i64 %size.word
  %size = load i64, ptr %size.at
  store i64 %size, ptr %column
  %arg.at = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg.at
  %p = call ptr @data(ptr %arg, ptr %array.type, ptr %descr, i32 %nd, ptr %dims, i32 257)
  %usable = icmp ne ptr %p, null
  br i1 %usable, label %input.ok, label %slow
input.ok:
  %in.at = getelementptr ptr, ptr %ins, i64 %k
  store ptr %p, ptr %in.at
  %row.bytes = mul i64 %size, %itemsize
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  store i64 %row.bytes, ptr %stride.at
  %k.next = add i64 %k, 1
  br label %inputs
result:
  %results.at = getelementptr i64, ptr %table, i64 OUTPUTS
  %results = load i64, ptr %results.at
  %several = icmp ugt i64 %results, 1
  br i1 %several, label %tuple, label %single
tuple:                                           ; several arrays, which Python has memory for if they are large
  %tuplecount.at = getelementptr i64, ptr %table, i64 OUT_COUNT
  %tuplecount = load i64, ptr %tuplecount.at
  %tuplerow = mul i64 %tuplecount, %itemsize
  %tuplebytes = mul i64 %tuplerow, %count
  %tuplesmall = icmp ult i64 %tuplebytes, LARGE_RESULT
  %tuplenew = icmp eq ptr %outarg, null
  %tupleok = and i1 %tuplesmall, %tuplenew
  br i1 %tupleok, label %tuple.new, label %slow
tuple.new:
  %pack = call ptr @dalembert_tuple_new(i64 %results)
  %nopack = icmp eq ptr %pack, null
  br i1 %nopack, label %nothing, label %tuple.items
tuple.items:
  %items = getelementptr i8, ptr %pack, i64 TUPLE_ITEMS
  br label %item
item:
  %i = phi i64 [ 0, %tuple.items ], [ %i.next, %item.ok ]
  %shape.word = mul i64 %i, OUT_WORDS
  %ndim.word = add i64 %shape.word, MORE_OUTPUTS
  %ndim.at = getelementptr i64, ptr %table, i64 %ndim.word
  %ndim64 = load i64, ptr %ndim.at
  %ndim = trunc i64 %ndim64 to i32
  %itemrank = add i32 %ndim, %batch
  %itemdims.at = getelementptr i64, ptr %ndim.at, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %column, ptr %itemdims.at, i64 32, i1 false)
  %array.new = call ptr @dalembert_array_new(ptr %array.type, i32 %itemrank, ptr %dims, i32 %typenum, ptr null,
                                             ptr null, i32 0, i32 0, ptr null)
  %noarray = icmp eq ptr %array.new, null
  br i1 %noarray, label %item.failed, label %item.ok
item.ok:
  %item.at = getelementptr ptr, ptr %items, i64 %i
  store ptr %array.new, ptr %item.at
  %array.data.at = getelementptr i8, ptr %array.new, i64 16
  %array.data = load ptr, ptr %array.data.at
  %item.out = getelementptr ptr, ptr %outs, i64 %i
  store ptr %array.data, ptr %item.out
  %i.next = add i64 %i, 1
  %more.items = icmp ult i64 %i.next, %results
  br i1 %more.items, label %item, label %compute
item.failed:
  call void @dalembert_decref(ptr %pack)
  ret ptr null
single:
  %outnd.at = getelementptr i64, ptr %table, i64 OUT_NDIM
  %outnd64 = load i64, ptr %outnd.at
  %outnd = trunc i64 %outnd64 to i32
  %outrank = add i32 %outnd, %batch
  %outdims.at = getelementptr i64, ptr %table, i64 OUT_DIMS
  call void @llvm.memcpy.p0.p0.i64(ptr %column, ptr %outdims.at, i64 32, i1 false)
  %no.out = icmp eq ptr %outarg, null
  br i1 %no.out, label %plain, label %given
given:
  %outdata = call ptr @data(ptr %outarg, ptr %array.type, ptr %descr, i32 %outrank, ptr %dims, i32 1281)
  %writable = icmp ne ptr %outdata, null
  br i1 %writable, label %given.size, label %slow
given.size:                                      ; over an input: other rows may need it, and Python if a check fails
  %outcount.at = getelementptr i64, ptr %table, i64 OUT_COUNT
  %outcount = load i64, ptr %outcount.at
  %outrow = mul i64 %outcount, %itemsize
  %outbytes = mul i64 %outrow, %count
  %outend = getelementptr i8, ptr %outdata, i64 %outbytes
  br label %apart
apart:
  %j = phi i64 [ 0, %given.size ], [ %j.next, %apart.one ]
  %all.apart = icmp eq i64 %j, %n
  br i1 %all.apart, label %given.ok, label %apart.one
apart.one:
  %begin.at = getelementptr ptr, ptr %ins, i64 %j
  %begin = load ptr, ptr %begin.at
  %bytes.at = getelementptr i64, ptr %strides, i64 %j
  %row = load i64, ptr %bytes.at
  %bytes = mul i64 %row, %count
  %end = getelementptr i8, ptr %begin, i64 %bytes
  %before = icmp ule ptr %end, %outdata
  %after = icmp ule ptr %outend, %begin
  %clear = or i1 %before, %after
  %j.next = add i64 %j, 1
  br i1 %clear, label %apart, label %slow
given.ok:
  call void @dalembert_incref(ptr %outarg)
  store ptr %outdata, ptr %outs
  br label %compute
plain:
  %scalar = icmp eq i32 %outrank, 0
  br i1 %scalar, label %scalar.out, label %new
scalar.out:
  store ptr %number, ptr %outs
  br i1 %is64, label %compute, label %slow
new:                                             ; Python has memory for large results that was used before
  %newcount.at = getelementptr i64, ptr %table, i64 OUT_COUNT
  %newcount = load i64, ptr %newcount.at
  %newrow = mul i64 %newcount, %itemsize
  %newbytes = mul i64 %newrow, %count
  %large = icmp uge i64 %newbytes, LARGE_RESULT
  br i1 %large, label %slow, label %small
small:
  %made = call ptr @dalembert_array_new(ptr %array.type, i32 %outrank, ptr %dims, i32 %typenum, ptr null, ptr null,
                                        i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %nothing, label %made.ok
made.ok:
  %made.data.at = getelementptr i8, ptr %made, i64 16
  %made.data = load ptr, ptr %made.data.at
  store ptr %made.data, ptr %outs
  br label %compute
compute:
  %out = phi ptr [ %outarg, %given.ok ], [ %made, %made.ok ], [ null, %scalar.out ], [ %pack, %item.ok ]
  br i1 %rank1, label %state, label %states
state:
  %s1 = call i64 %kernel(ptr %ins, ptr %outs)
  br label %checked
states:
  %s2 = call i64 %kernel(ptr %ins, ptr %strides, ptr %outs, i64 0, i64 %count, i64 1)
  br label %checked
checked:
  %status = phi i64 [ %s1, %state ], [ %s2, %states ]
  %good = icmp eq i64 %status, 0
  %boxed = icmp eq ptr %out, null
  br i1 %good, label %return, label %bad
return:
  br i1 %boxed, label %return.number, label %return.array
return.array:
  ret ptr %out
return.number:
  %value = load double, ptr %number
  %float = call ptr @dalembert_float(double %value)
  ret ptr %float
bad:                                             ; Python says which state and which joint
  br i1 %boxed, label %slow, label %drop
drop:
  call void @dalembert_decref(ptr %out)
  br label %slow
nothing:
  ret ptr null
slow:
  %callable = load ptr, ptr %table
  %answer = call ptr @dalembert_vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; arrays, then a name without which none is chosen: goes on to the builtin whose table the names lead to
define ptr @named(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {
entry:
  %table.at = getelementptr i8, ptr %self, i64 16
  %table = load ptr, ptr %table.at
  %n.at = getelementptr i64, ptr %table, i64 INPUTS
  %n = load i64, ptr %n.at
  %n1 = add i64 %n, 1
  %right.count = icmp eq i64 %nargs, %n1
  %no.keywords = icmp eq ptr %kwnames, null
  %plain = and i1 %right.count, %no.keywords
  br i1 %plain, label %last, label %slow
last:
  %name.at = getelementptr ptr, ptr %args, i64 %n
  %name = load ptr, ptr %name.at
  %type.at = getelementptr i8, ptr %name, i64 8
  %type = load ptr, ptr %type.at
  %text.at = getelementptr i64, ptr %table, i64 TEXT_TYPE
  %text = load ptr, ptr %text.at
  %is.text = icmp eq ptr %type, %text
  br i1 %is.text, label %look, label %slow
look:
  %names.at = getelementptr i64, ptr %table, i64 NAMES
  %names = load ptr, ptr %names.at
  %found = call ptr @dalembert_getitem(ptr %names, ptr %name)
  %is.known = icmp ne ptr %found, null
  br i1 %is.known, label %go, label %slow
go:
  %result = call ptr @call(ptr %found, ptr %args, i64 %n, ptr null)
  ret ptr %result
slow:
  %callable = load ptr, ptr %table
  %answer = call ptr @dalembert_vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}
"""
