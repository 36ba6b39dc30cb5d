// The work of one thread: increments under a mutex with three states (free, held, contended).
export default function increment({ cells, count }) {
  for (let round = 0; round < count; round += 1) {
    if (Atomics.compareExchange(cells, 0, 0, 1) !== 0) {
      while (Atomics.exchange(cells, 0, 2) !== 0) Atomics.wait(cells, 0, 2);
    }
    cells[1] += 1;
    if (Atomics.exchange(cells, 0, 0) === 2) Atomics.notify(cells, 0, 1);
  }
}
