/* CUDA's words for a C++ compiler without CUDA: emitted kernels run here thread by thread, or, where threads of a block
 * wait for each other, on threads of this machine. */
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(threads)

struct Index { unsigned x; };
static thread_local Index threadIdx, blockIdx, blockDim;
static std::unique_ptr<std::barrier<>> all_threads;
static inline void __syncthreads() { all_threads->arrive_and_wait(); }

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

/* All blocks one after the other; the threads of one block together if they wait for each other. */
template <class... Arguments>
static void launch(bool together, unsigned threads, void (*kernel)(long long, Arguments...), long long count,
                   Arguments... arguments)
{
    for (unsigned block = 0; block * (long long)threads < count; ++block) {
        auto one = [=](unsigned thread) {
            threadIdx.x = thread, blockIdx.x = block, blockDim.x = threads;
            kernel(count, arguments...);
        };
        if (!together) {
            for (unsigned thread = 0; thread < threads; ++thread) one(thread);
            continue;
        }
        all_threads = std::make_unique<std::barrier<>>(threads);
        std::vector<std::thread> running;
        for (unsigned thread = 0; thread < threads; ++thread) running.emplace_back(one, thread);
        for (auto &each : running) each.join();
    }
}
