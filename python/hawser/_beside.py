"""Long calls of the library beside the main thread, which waits where Ctrl-C can reach it."""
import threading
from collections.abc import Callable


# Seconds that a wait of the main thread takes at most, after which it goes on waiting: a signal that comes just before a wait begins, or to another
# thread, is not seen before its end.
MOST_WAIT = 0.5


def run_beside(work: Callable[[], None], cancel: Callable[[], None]) -> bool:
    """Runs `work`, raises what it raises, and returns whether Ctrl-C was pressed, upon which `cancel` asks it to end.

    Python gives signals to the main thread alone, between its own instructions; so the call runs in another thread. In any other
    thread than the main one, the call runs in that.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return False
    done, raised = threading.Event(), []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, name="hawser", daemon=True)
    pressed = False
    try:
        thread.start()
    except KeyboardInterrupt:  # while it waits for the thread to begin, which may not have come about
        pressed = True
        cancel()
    while True:
        try:
            while not done.wait(MOST_WAIT):
                if pressed and not thread.is_alive():
                    return True
            break
        except KeyboardInterrupt:
            pressed = True
            cancel()
    thread.join()
    if raised and not pressed:
        raise raised[0]
    return pressed
