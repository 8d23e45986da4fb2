/* What both versions of the interface share: one instance, its values, steps and rates.
 *
 * All values lie in one array, whose places are the value references: time, q, e = [v, states], inputs, parameters,
 * computed outputs, rates. No allocation but that of the instance and of saved states; safe to call from several threads.
 */
#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined _WIN32 || defined __CYGWIN__
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

enum { DONE, WARNED, DISCARDED, FAILED };
enum { INSTANTIATED, INITIALIZING, RUNNING, TERMINATED };

typedef struct {
    double x[VALUES];
    double number; /* steps taken */
    double start;  /* time at the start [s] */
    int phase;
    int stale; /* whether outputs and rates must be computed again */
} State;

typedef struct Instance {
    State state;
    void (*log)(struct Instance *, int status, const char *text);
    void *environment;
    void *logger;
    int logging;
    char *name;
} Instance;

static int report(Instance *m, int status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (m->log && (m->logging || status >= FAILED))
        m->log(m, status, text);
    return status;
}

static void reset(Instance *m)
{
    memset(&m->state, 0, sizeof m->state);
    for (int k = 0; k < VALUES; ++k)
        m->state.x[k] = start_values[k];
    m->state.phase = INSTANTIATED;
    m->state.stale = 1;
}

static Instance *make(const char *name)
{
    Instance *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->name = malloc(strlen(name ? name : "") + 1);
    if (!m->name) {
        free(m);
        return NULL;
    }
    strcpy(m->name, name ? name : "");
    reset(m);
    return m;
}

static void release(Instance *m)
{
    if (m) {
        free(m->name);
        free(m);
    }
}

/* Compute outputs and rates of the present state. */
static void refresh(Instance *m)
{
    State *s = &m->state;
    if (!s->stale)
        return;
    if (s->phase < RUNNING)
        model_start(s->x);
    model_outputs(s->x[AT_TIME], s->x, s->x + AT_Y);
#if HAS_RATES
    model_rates(s->x[AT_TIME], s->x, s->x + AT_RATES);
#endif
    s->stale = 0;
}

static int get(Instance *m, const unsigned *references, size_t n, double *values)
{
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= VALUES)
            return report(m, FAILED, "value reference %u is unknown", references[k]);
        if (references[k] >= AT_Y)
            refresh(m);
        values[k] = m->state.x[references[k]];
    }
    return DONE;
}

static int set(Instance *m, const unsigned *references, size_t n, const double *values)
{
    for (size_t k = 0; k < n; ++k) {
        const unsigned r = references[k];
        const int is_state = r >= AT_Q && r < AT_U, is_free = r >= AT_U && r < AT_Y;
        if (!is_state && !is_free)
            return report(m, FAILED, "value reference %u cannot be set", r);
        if (is_state && m->state.phase >= RUNNING)
            return report(m, FAILED, "value reference %u is a state: set it before the end of the initialization", r);
        if (!(fabs(values[k]) <= 1.7976931348623157e308))
            return report(m, FAILED, "value reference %u is set to a value that is not finite", r);
        m->state.x[r] = values[k];
        m->state.stale = 1;
    }
    return DONE;
}

static int initialize(Instance *m, double start)
{
    m->state.start = start;
    m->state.x[AT_TIME] = start;
    m->state.phase = INITIALIZING;
    m->state.stale = 1;
    return DONE;
}

static int finish_initialization(Instance *m)
{
    State *s = &m->state;
    for (int k = 0; k < QUATERNIONS; ++k) {
        const double *q = s->x + AT_Q + quaternions[k];
        const double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (!(fabs(square - 1.0) <= 2e-6))
            return report(m, FAILED, "the quaternion from value reference %d on is not of unit length",
                          AT_Q + quaternions[k]);
    }
    model_start(s->x);
    s->phase = RUNNING;
    s->stale = 1;
    return DONE;
}

#if HAS_STEPS
static int step(Instance *m, double time, double size)
{
    State *s = &m->state;
    const double own = s->start + s->number * STEP, count = floor(size / STEP + 0.5);
    if (s->phase != RUNNING)
        return report(m, FAILED, "a step before the end of the initialization, or after the end");
    if (!(count >= 1.0) || !(fabs(size - count * STEP) <= 1e-6 * STEP * (1.0 + count)))
        return report(m, FAILED, "the communication step %.9g s is not a multiple of the step of this FMU, %.9g s", size,
                      STEP);
    if (!(fabs(time - own) <= 0.5 * STEP))
        return report(m, FAILED, "the communication point is %.9g s, and the last step ended at %.9g s", time, own);
    for (double k = 0; k < count; k += 1.0) {
        double q[NQ], e[NE];
        model_step(s->x, s->start, s->number, q, e);
        for (int i = 0; i < NE; ++i)
            if (!(fabs(e[i]) <= 1.7976931348623157e308) || (i < NV && !(fabs(e[i]) <= FASTEST)))
                return report(m, FAILED, "the motion diverged after t = %.9g s (value reference %d)", own, AT_E + i);
        memcpy(s->x + AT_Q, q, sizeof q);
        memcpy(s->x + AT_E, e, sizeof e);
        s->number += 1.0;
        s->x[AT_TIME] = s->start + s->number * STEP;
    }
    s->stale = 1;
#if HAS_ROOM
    refresh(m);
    if (s->x[AT_CROWDED] > 0.0)
        return report(m, FAILED, "more contacts touch than there is room for: export again with a start that touches");
#endif
    return DONE;
}
#endif

#if HAS_RATES
/* Derivatives of unknowns (rates and outputs) along seeds of knowns (states and inputs). */
static int directional(Instance *m, const unsigned *unknowns, size_t n, const unsigned *knowns, size_t count,
                       const double *seed, double *sensitivity)
{
    double dx[NQ + NE + NU], dy[NY + NQ + NE];
    memset(dx, 0, sizeof dx);
    for (size_t k = 0; k < count; ++k) {
        if (knowns[k] < AT_Q || knowns[k] >= AT_P)
            return report(m, FAILED, "no derivatives by value reference %u: it is no state and no input", knowns[k]);
        dx[knowns[k] - AT_Q] += seed[k];
    }
    model_directional(m->state.x[AT_TIME], m->state.x, dx, dy);
    for (size_t k = 0; k < n; ++k) {
        if (unknowns[k] >= AT_Y && unknowns[k] < VALUES)
            sensitivity[k] = dy[unknowns[k] - AT_Y];
        else if (unknowns[k] >= AT_Q && unknowns[k] < AT_U)
            sensitivity[k] = dx[unknowns[k] - AT_Q];
        else
            return report(m, FAILED, "no derivatives of value reference %u: it is no rate and no output", unknowns[k]);
    }
    return DONE;
}

static int set_states(Instance *m, const double *x, size_t n)
{
    if (n != NQ + NE)
        return report(m, FAILED, "%zu states, expected %d", n, NQ + NE);
    memcpy(m->state.x + AT_Q, x, n * sizeof *x);
    m->state.stale = 1;
    return DONE;
}

static int get_states(Instance *m, double *x, size_t n, int at)
{
    if (n != NQ + NE)
        return report(m, FAILED, "%zu states, expected %d", n, NQ + NE);
    if (at != AT_Q)
        refresh(m);
    memcpy(x, m->state.x + at, n * sizeof *x);
    return DONE;
}
#endif

static int save(Instance *m, void **saved)
{
    if (!*saved)
        *saved = malloc(sizeof(State));
    if (!*saved)
        return report(m, FAILED, "no memory for a state");
    memcpy(*saved, &m->state, sizeof(State));
    return DONE;
}

static int restore(Instance *m, const void *saved, size_t size)
{
    if (!saved || size != sizeof(State))
        return report(m, FAILED, "the saved state is missing or not of this FMU");
    memcpy(&m->state, saved, sizeof(State));
    return DONE;
}
