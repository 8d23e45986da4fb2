/* The functions of FMI 3.0. */
#include <stdbool.h>
#include <stdint.h>

typedef void *fmi3Instance, *fmi3InstanceEnvironment, *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef int fmi3DependencyKind, fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3Callback)(void);

#define OF(c) ((Instance *)(c))
#define LISTED fmi3Instance c, const fmi3ValueReference vr[], size_t n

static void send_log(Instance *m, int status, const char *text)
{
    fmi3LogMessageCallback log;
    memcpy(&log, &m->logger, sizeof log);
    if (log)
        log(m->environment, (fmi3Status)status, status >= FAILED ? "error" : "log", text);
}

static fmi3Status none(fmi3Instance c, size_t n)
{
    return n ? (fmi3Status)report(c, FAILED, "there are no variables of this type") : fmi3OK;
}

static Instance *instantiate(fmi3String name, fmi3String token, bool logging, void *environment,
                             fmi3LogMessageCallback log, int able, const char *kind)
{
    Instance *m = make(name);
    if (!m)
        return NULL;
    memcpy(&m->logger, &log, sizeof log);
    m->environment = environment;
    m->log = send_log;
    m->logging = logging;
    if (!token || strcmp(token, TOKEN))
        report(m, FAILED, "the instantiation token is not that of this FMU, %s", TOKEN);
    else if (!able)
        report(m, FAILED, "this FMU is not for %s", kind);
    else
        return m;
    release(m);
    return NULL;
}

EXPORTED const char *fmi3GetVersion(void) { return "3.0"; }

EXPORTED fmi3Status fmi3SetDebugLogging(fmi3Instance c, bool on, size_t n, const fmi3String categories[])
{
    (void)n, (void)categories;
    OF(c)->logging = on;
    return fmi3OK;
}

EXPORTED fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, bool visible,
                                                   bool logging, fmi3InstanceEnvironment environment,
                                                   fmi3LogMessageCallback log)
{
    (void)resources, (void)visible;
    return instantiate(name, token, logging, environment, log, HAS_RATES, "model exchange");
}

EXPORTED fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
                                                  bool logging, bool events, bool early, const fmi3ValueReference vr[],
                                                  size_t n, fmi3InstanceEnvironment environment,
                                                  fmi3LogMessageCallback log, fmi3Callback intermediate)
{
    (void)resources, (void)visible, (void)events, (void)early, (void)vr, (void)n, (void)intermediate;
    return instantiate(name, token, logging, environment, log, HAS_STEPS, "co-simulation");
}

EXPORTED fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                        bool visible, bool logging, fmi3InstanceEnvironment environment,
                                                        fmi3LogMessageCallback log, fmi3Callback clock,
                                                        fmi3Callback lock, fmi3Callback unlock)
{
    (void)resources, (void)visible, (void)clock, (void)lock, (void)unlock;
    return instantiate(name, token, logging, environment, log, 0, "scheduled execution");
}

EXPORTED void fmi3FreeInstance(fmi3Instance c) { release(c); }

EXPORTED fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool defined, double tolerance, double start, bool stops,
                                                double stop)
{
    (void)defined, (void)tolerance, (void)stops, (void)stop;
    return (fmi3Status)initialize(c, start);
}

EXPORTED fmi3Status fmi3ExitInitializationMode(fmi3Instance c) { return (fmi3Status)finish_initialization(c); }

EXPORTED fmi3Status fmi3EnterEventMode(fmi3Instance c)
{
    (void)c;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3Terminate(fmi3Instance c)
{
    OF(c)->state.phase = TERMINATED;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3Reset(fmi3Instance c)
{
    reset(c);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetFloat64(LISTED, double values[], size_t count)
{
    return count == n ? (fmi3Status)get(c, vr, n, values) : (fmi3Status)report(c, FAILED, "%zu values for %zu", count, n);
}

EXPORTED fmi3Status fmi3SetFloat64(LISTED, const double values[], size_t count)
{
    return count == n ? (fmi3Status)set(c, vr, n, values) : (fmi3Status)report(c, FAILED, "%zu values for %zu", count, n);
}

#define NONE(kind, type) \
    EXPORTED fmi3Status fmi3Get##kind(LISTED, type values[], size_t count) \
    { \
        (void)vr, (void)values, (void)count; \
        return none(c, n); \
    } \
    EXPORTED fmi3Status fmi3Set##kind(LISTED, const type values[], size_t count) \
    { \
        (void)vr, (void)values, (void)count; \
        return none(c, n); \
    }
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, bool)
NONE(String, fmi3String)

/* Functions for things that this FMU does not have: they succeed where they are asked for none. */
#define WITHOUT(function, ...) \
    EXPORTED fmi3Status function(LISTED, __VA_ARGS__) \
    { \
        (void)vr; \
        return none(c, n); \
    }
#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
WITHOUT(fmi3GetBinary, size_t sizes[], fmi3Binary values[], size_t count)
WITHOUT(fmi3SetBinary, const size_t sizes[], const fmi3Binary values[], size_t count)
WITHOUT(fmi3GetClock, bool values[])
WITHOUT(fmi3SetClock, const bool values[])
WITHOUT(fmi3GetIntervalDecimal, double intervals[], fmi3IntervalQualifier qualifiers[])
WITHOUT(fmi3GetIntervalFraction, uint64_t counters[], uint64_t resolutions[], fmi3IntervalQualifier qualifiers[])
WITHOUT(fmi3GetShiftDecimal, double shifts[])
WITHOUT(fmi3GetShiftFraction, uint64_t counters[], uint64_t resolutions[])
WITHOUT(fmi3SetIntervalDecimal, const double intervals[])
WITHOUT(fmi3SetIntervalFraction, const uint64_t counters[], const uint64_t resolutions[])
WITHOUT(fmi3SetShiftDecimal, const double shifts[])
WITHOUT(fmi3SetShiftFraction, const uint64_t counters[], const uint64_t resolutions[])
WITHOUT(fmi3GetOutputDerivatives, const int32_t orders[], double values[], size_t count)

EXPORTED fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t *n)
{
    return (fmi3Status)report(c, FAILED, "dependencies of variables are not stated");
}

EXPORTED fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t elements[],
                                                fmi3ValueReference independents[], size_t of_independents[],
                                                fmi3DependencyKind kinds[], size_t n)
{
    return (fmi3Status)report(c, FAILED, "dependencies of variables are not stated");
}

EXPORTED fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state) { return (fmi3Status)save(c, state); }

EXPORTED fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    return (fmi3Status)restore(c, state, sizeof(State));
}

EXPORTED fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    *size = sizeof(State);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (!state || size < sizeof(State))
        return (fmi3Status)report(c, FAILED, "no state, or no room for it");
    memcpy(bytes, state, sizeof(State));
    return fmi3OK;
}

EXPORTED fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    if (size != sizeof(State))
        return (fmi3Status)report(c, FAILED, "the bytes are not of a state of this FMU");
    *state = *state ? *state : malloc(sizeof(State));
    if (!*state)
        return (fmi3Status)report(c, FAILED, "no memory for a state");
    memcpy(*state, bytes, sizeof(State));
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t n,
                                                 const fmi3ValueReference knowns[], size_t count, const double seed[],
                                                 size_t seeds, double sensitivity[], size_t sensitivities)
{
#if HAS_RATES
    if (seeds != count || sensitivities != n)
        return (fmi3Status)report(c, FAILED, "a seed for each known and a sensitivity for each unknown, please");
    return (fmi3Status)directional(c, unknowns, n, knowns, count, seed, sensitivity);
#else
    return (fmi3Status)report(c, FAILED, "directional derivatives need model exchange");
#endif
}

EXPORTED fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t n,
                                             const fmi3ValueReference knowns[], size_t count, const double seed[],
                                             size_t seeds, double sensitivity[], size_t sensitivities)
{
    return (fmi3Status)report(c, FAILED, "there are no adjoint derivatives");
}

EXPORTED fmi3Status fmi3EnterConfigurationMode(fmi3Instance c)
{
    return (fmi3Status)report(c, FAILED, "there are no structural parameters");
}

EXPORTED fmi3Status fmi3ExitConfigurationMode(fmi3Instance c)
{
    return (fmi3Status)report(c, FAILED, "there are no structural parameters");
}

EXPORTED fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c) { return fmi3OK; }

EXPORTED fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                             bool *next, double *time)
{
    *again = *terminate = *nominals = *values = *next = false;
    *time = 0.0;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, double time)
{
    return (fmi3Status)report(c, FAILED, "there are no clocks");
}

EXPORTED fmi3Status fmi3EnterStepMode(fmi3Instance c) { return fmi3OK; }

EXPORTED fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c) { return fmi3OK; }

EXPORTED fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, bool no_earlier, bool *event, bool *terminate)
{
    *event = *terminate = false;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SetTime(fmi3Instance c, double time)
{
    OF(c)->state.x[AT_TIME] = time;
    OF(c)->state.stale = 1;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetEventIndicators(fmi3Instance c, double indicators[], size_t n) { return none(c, n); }

EXPORTED fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    *n = 0;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    *n = HAS_RATES ? NQ + NE : 0;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, double nominals[], size_t n)
{
    for (size_t k = 0; k < n; ++k)
        nominals[k] = 1.0;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SetContinuousStates(fmi3Instance c, const double x[], size_t n)
{
#if HAS_RATES
    return (fmi3Status)set_states(c, x, n);
#else
    return none(c, n);
#endif
}

EXPORTED fmi3Status fmi3GetContinuousStates(fmi3Instance c, double x[], size_t n)
{
#if HAS_RATES
    return (fmi3Status)get_states(c, x, n, AT_Q);
#else
    return none(c, n);
#endif
}

EXPORTED fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, double rates[], size_t n)
{
#if HAS_RATES
    return (fmi3Status)get_states(c, rates, n, AT_RATES);
#else
    return none(c, n);
#endif
}

EXPORTED fmi3Status fmi3DoStep(fmi3Instance c, double time, double size, bool no_earlier, bool *event, bool *terminate,
                               bool *early, double *last)
{
    int status = FAILED;
    *event = *terminate = *early = false;
#if HAS_STEPS
    status = step(c, time, size);
#endif
    *last = OF(c)->state.x[AT_TIME];
    return (fmi3Status)status;
}
