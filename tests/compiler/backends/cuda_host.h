/* CUDA's words for a C++ compiler without CUDA: emitted kernels run here, one thread after the other. */
#include <cmath>
#include <cstring>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __syncthreads() ((void)0)

struct Index { unsigned x; };
static Index threadIdx, blockIdx, blockDim, gridDim;

static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline int atomicAdd(int *at, int x) { const int before = *at; *at += x; return before; }

template <class Real> static inline Real __ldg(const Real *at) { return *at; }
template <class To, class From> static inline To same_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float_as_int(float x) { return same_bits<int>(x); }
static inline float __int_as_float(int i) { return same_bits<float>(i); }
static inline int __double2loint(double x) { return (int)(unsigned)same_bits<unsigned long long>(x); }
static inline int __double2hiint(double x) { return (int)(unsigned)(same_bits<unsigned long long>(x) >> 32); }
static inline double __hiloint2double(int high, int low)
{
    return same_bits<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}

template <class... Arguments>
static void launch(unsigned threads, void (*kernel)(long long, Arguments...), long long count, Arguments... arguments)
{
    blockDim.x = threads;
    gridDim.x = (unsigned)((count + threads - 1) / threads);
    for (blockIdx.x = 0; blockIdx.x * (long long)threads < count; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(count, arguments...);
}
