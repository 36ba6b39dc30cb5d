# The counter in Python: 16 threads add 1,000 times each under a lock. Prints the milliseconds of each run.
import sys
import threading
import time

WORKERS, COUNT = 16, 1_000


def run() -> float:
    total = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal total
        for _ in range(COUNT):
            with lock:
                total += 1

    started = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - started
    assert total == WORKERS * COUNT
    return elapsed * 1_000


for _ in range(int(sys.argv[1])):
    print(run())
