/* pendulum_rollout: see pendulum_rollout.h */
#include "pendulum_rollout.h"

#include <math.h>

static float pendulum_rollout_step_min(float a, float b) { return a < b || a != a ? a : b; }

static float pendulum_rollout_step_max(float a, float b) { return a > b || a != a ? a : b; }

static void pendulum_rollout_step(
    const float q[1],
    const float v[1],
    const float tau[1],
    const float step[1],
    float q_end[1],
    float v_end[1],
    float power[1])
{
    const float t0 = pendulum_rollout_step_min(1.0f, tau[0]);
    const float t1 = pendulum_rollout_step_max(-1.0f, t0);
    const float t2 = 0.1f * v[0];
    const float t3 = t1 - t2;
    const float t4 = sinf(q[0]);
    const float t5 = 9.81f * t4;
    const float t6 = t3 - t5;
    const float t7 = step[0] * t6;
    const float t8 = v[0] + t7;
    const float t9 = step[0] * t8;
    const float t10 = q[0] + t9;
    const float t11 = t1 * t8;
    q_end[0] = t10;
    v_end[0] = t8;
    power[0] = t11;
}

void pendulum_rollout(
    size_t n,
    const float q[1],
    const float v[1],
    const float tau[],
    const float step[1],
    float q_end[1],
    float v_end[1],
    float power[])
{
    float q_now[1];
    for (size_t i = 0; i < 1; ++i) q_now[i] = q[i];
    for (size_t i = 0; i < 1; ++i) q_end[i] = q[i];
    float v_now[1];
    for (size_t i = 0; i < 1; ++i) v_now[i] = v[i];
    for (size_t i = 0; i < 1; ++i) v_end[i] = v[i];
    for (size_t k = 0; k < n; ++k) {
        pendulum_rollout_step(q_now, v_now, &tau[1 * k], step, q_end, v_end, &power[1 * k]);
        for (size_t i = 0; i < 1; ++i) q_now[i] = q_end[i];
        for (size_t i = 0; i < 1; ++i) v_now[i] = v_end[i];
    }
}
