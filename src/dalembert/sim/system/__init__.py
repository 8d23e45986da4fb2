"""The system that is integrated: equations of motion with elements, constraints and accounts, and what drives them.

In the order of reading:

    layout, drive, constraints     where the numbers of a state lie; commands; rows of conditions, their sets, impacts
    system                         the equations of motion: rates of a state, constraint rows, power of each account
    accounts, guards, multipliers  accounts of the energy ledger; what ends smooth motion; forces of constraints
    shared, called                 systems whose rates are a subroutine, or whose torque law is called from Python

What drives it:

    laws                           what people pass as `torque`, and the system that it drives
    sampled → sampling             controllers that run at rates, compiled into the step
    called_controllers             those that cannot be compiled: called between the legs of a run
    planner → planners             those that plan for many motions at once, between compiled pieces of steps
    unsolved                       programs in laws that have no solution at some states

A time step with impulses instead of events:

    drift, impulses                motion without forces; rows that come and go put on their laws at the end of a step
    contact_step                   rigid contact: half a drift, all impulses at once, half a drift
    bodies, links, loose_bodies    what impulses move: bodies that joints carry; those that are looped over
    contact_problem                impulses on all contacts, with rebounds; the memory, heat and counts of a step
    one_contact → contact_table    what the laws ask of one contact; all contacts of one kind
    written_contacts, limbs        few contacts, or those of limbs: written out
    looped_contacts                contacts in slots, of links and of loose bodies: looped over
    each_contact                   which contacts: all candidates, where these are few,
    gathered_contacts              those that are near, or those of limbs if they suffice,
    scene_contacts                 or those of pairs that are near, which each state lists
    turning, meeting               bodies that turn too far in a step; two loose bodies that meet within one

Mechanisms of free bodies (integrators "leapfrog" and "axis-angle"):

    free_body, free_bodies         one body and loops over them; the mechanism
    free_joints → free_joint_rows, elimination      joints between two bodies, and their impulses
"""
