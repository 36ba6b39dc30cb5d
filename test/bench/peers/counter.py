"""Counts with Python's threads and a lock, as /counter/increment does: WORKERS COUNT CLIENTS SECONDS.

Each client runs one count after the other. Prints the number of runs in each second.
"""
import sys
import threading
import time

workers, count, clients = map(int, sys.argv[1:4])
seconds = float(sys.argv[4])
runs = 0
runs_lock = threading.Lock()


def run():
    lock = threading.Lock()
    value = 0

    def increment():
        nonlocal value
        for _ in range(count):
            with lock:
                value += 1

    threads = [threading.Thread(target=increment) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert value == workers * count


def client(end):
    global runs
    while time.monotonic() < end:
        run()
        with runs_lock:
            runs += 1


begin = time.monotonic()
all_clients = [threading.Thread(target=client, args=(begin + seconds,)) for _ in range(clients)]
for each in all_clients:
    each.start()
for each in all_clients:
    each.join()
print(runs / (time.monotonic() - begin))
