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
    divided                        the sum of the pushes of a step that is divided into parts
    bodies, one_contact            what impulses move; what the laws ask of one contact
    contact_table                  contacts of one kind: columns of these laws, and what a solution says about them
    contact_problem                impulses on all of them, with rebounds; the memory, heat and counts of a step
    turning                        bodies that turn too far in a step for it to follow them
    joint_contacts                 contacts as rows of all joints: few, written out, or in slots, looped over
    each_contact                   a step on all candidates, where these are few
    gathered_contacts → limbs      a step on those that are near; before that, on those of limbs alone
    paired_contacts                links that may touch each other in very many pairs
    crowd_step → crowd_contacts    loose bodies, alone or among robots: all at once; the contacts of one kind
    loose_bodies, links            the bodies that are looped over; the others
    meeting                        two loose bodies that meet within a step

Mechanisms of free bodies (integrators "leapfrog" and "axis-angle"):

    free_body, free_bodies         one body and loops over them; the mechanism
    free_joints → free_joint_rows, elimination      joints between two bodies, and their impulses
"""
