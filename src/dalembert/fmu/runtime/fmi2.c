/* The functions of FMI 2.0. */

typedef void *fmi2Component, *fmi2ComponentEnvironment, *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef char fmi2Byte;
typedef const char *fmi2String;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged, nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

#define OF(c) ((Instance *)(c))

static void send_log(Instance *m, int status, const char *text)
{
    const fmi2CallbackFunctions *f = m->logger;
    if (f && f->logger)
        f->logger(f->componentEnvironment, m->name, (fmi2Status)status, status >= FAILED ? "error" : "log", "%s", text);
}

EXPORTED const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORTED const char *fmi2GetVersion(void) { return "2.0"; }

EXPORTED fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)n, (void)categories;
    OF(c)->logging = on;
    return fmi2OK;
}

EXPORTED fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                       const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    Instance *m = make(name);
    (void)resources, (void)visible;
    if (!m)
        return NULL;
    m->logger = (void *)functions;
    m->log = send_log;
    m->logging = logging;
    if (!guid || strcmp(guid, TOKEN)) {
        report(m, FAILED, "the GUID is not that of this FMU, %s", TOKEN);
        release(m);
        return NULL;
    }
    if ((type == fmi2CoSimulation && !HAS_STEPS) || (type == fmi2ModelExchange && !HAS_RATES)) {
        report(m, FAILED, "this FMU is for %s", HAS_STEPS ? "co-simulation" : "model exchange");
        release(m);
        return NULL;
    }
    return m;
}

EXPORTED void fmi2FreeInstance(fmi2Component c) { release(c); }

EXPORTED fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean defined, fmi2Real tolerance, fmi2Real start,
                                        fmi2Boolean stops, fmi2Real stop)
{
    (void)defined, (void)tolerance, (void)stops, (void)stop;
    OF(c)->state.start = start;
    OF(c)->state.x[AT_TIME] = start;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    return (fmi2Status)initialize(c, OF(c)->state.start);
}

EXPORTED fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return (fmi2Status)finish_initialization(c); }

EXPORTED fmi2Status fmi2Terminate(fmi2Component c)
{
    OF(c)->state.phase = TERMINATED;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2Reset(fmi2Component c)
{
    reset(c);
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    return (fmi2Status)get(c, vr, n, value);
}

EXPORTED fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    return (fmi2Status)set(c, vr, n, value);
}

#define NONE(kind, type) \
    EXPORTED fmi2Status fmi2Get##kind(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[]) \
    { \
        (void)vr, (void)value; \
        return n ? (fmi2Status)report(c, FAILED, "there are no variables of this type") : fmi2OK; \
    } \
    EXPORTED fmi2Status fmi2Set##kind(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type value[]) \
    { \
        (void)vr, (void)value; \
        return n ? (fmi2Status)report(c, FAILED, "there are no variables of this type") : fmi2OK; \
    }
NONE(Integer, fmi2Integer)
NONE(Boolean, fmi2Boolean)
NONE(String, fmi2String)

EXPORTED fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) { return (fmi2Status)save(c, state); }

EXPORTED fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    return (fmi2Status)restore(c, state, sizeof(State));
}

EXPORTED fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c, (void)state;
    *size = sizeof(State);
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (!state || size < sizeof(State))
        return (fmi2Status)report(c, FAILED, "no state, or no room for it");
    memcpy(bytes, state, sizeof(State));
    return fmi2OK;
}

EXPORTED fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    if (size != sizeof(State))
        return (fmi2Status)report(c, FAILED, "the bytes are not of a state of this FMU");
    *state = *state ? *state : malloc(sizeof(State));
    if (!*state)
        return (fmi2Status)report(c, FAILED, "no memory for a state");
    memcpy(*state, bytes, sizeof(State));
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknowns[], size_t n,
                                                 const fmi2ValueReference knowns[], size_t count, const fmi2Real seed[],
                                                 fmi2Real sensitivity[])
{
#if HAS_RATES
    return (fmi2Status)directional(c, unknowns, n, knowns, count, seed, sensitivity);
#else
    (void)unknowns, (void)n, (void)knowns, (void)count, (void)seed, (void)sensitivity;
    return (fmi2Status)report(c, FAILED, "directional derivatives need model exchange");
#endif
}

#if HAS_RATES
EXPORTED fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

EXPORTED fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_earlier, fmi2Boolean *event,
                                                fmi2Boolean *terminate)
{
    (void)c, (void)no_earlier;
    *event = *terminate = 0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    OF(c)->state.x[AT_TIME] = time;
    OF(c)->state.stale = 1;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    return (fmi2Status)set_states(c, x, n);
}

EXPORTED fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real rates[], size_t n)
{
    return (fmi2Status)get_states(c, rates, n, AT_RATES);
}

EXPORTED fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t n)
{
    (void)indicators;
    return n ? (fmi2Status)report(c, FAILED, "there are no event indicators") : fmi2OK;
}

EXPORTED fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    return (fmi2Status)get_states(c, x, n, AT_Q);
}

EXPORTED fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t n)
{
    (void)c;
    for (size_t k = 0; k < n; ++k)
        nominals[k] = 1.0;
    return fmi2OK;
}
#endif

#if HAS_STEPS
EXPORTED fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr, (void)order, (void)value;
    return n ? (fmi2Status)report(c, FAILED, "inputs are held over a step, without derivatives") : fmi2OK;
}

EXPORTED fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                 const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)order, (void)value;
    return n ? (fmi2Status)report(c, FAILED, "outputs have no derivatives") : fmi2OK;
}

EXPORTED fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real size, fmi2Boolean no_earlier)
{
    (void)no_earlier;
    return (fmi2Status)step(c, time, size);
}

EXPORTED fmi2Status fmi2CancelStep(fmi2Component c)
{
    return (fmi2Status)report(c, FAILED, "steps are not asynchronous");
}

EXPORTED fmi2Status fmi2GetStatus(fmi2Component c, fmi2StatusKind kind, fmi2Status *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

EXPORTED fmi2Status fmi2GetRealStatus(fmi2Component c, fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = OF(c)->state.x[AT_TIME];
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetIntegerStatus(fmi2Component c, fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

EXPORTED fmi2Status fmi2GetBooleanStatus(fmi2Component c, fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind != fmi2Terminated)
        return fmi2Discard;
    *value = OF(c)->state.phase == TERMINATED;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetStringStatus(fmi2Component c, fmi2StatusKind kind, fmi2String *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}
#endif
