"""What the ports share: the time that a call takes, and the picture that --plot PATH asks for."""

import sys
import time


def seconds(call, times=20):
    """Least CPU time of some calls [s], after one that compiles."""
    call()
    elapsed = []
    for _ in range(times):
        begin = time.process_time()
        call()
        elapsed.append(time.process_time() - begin)
    return min(elapsed)


def picture(draw):
    """Call draw(path) where the script was started with --plot PATH."""
    if "--plot" in sys.argv:
        draw(sys.argv[-1])
