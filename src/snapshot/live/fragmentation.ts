import { State } from "../model/keys.ts";
import type { TorchSnapshot } from "../model/snapshot.ts";
import type { OnDevice, PoolRow } from "./tables.ts";

const unused = (device: number, pool: string) => ({
  device,
  pool,
  segments: 0,
  reserved_bytes: 0,
  allocated_bytes: 0,
  pending_free_bytes: 0,
  inactive_bytes: 0,
  largest_inactive_bytes: 0,
  releasable_bytes: 0,
  requested: 0,
});

/** Use by device and pool, ascending. */
export function poolUse(snapshot: TorchSnapshot): OnDevice<PoolRow>[] {
  const { segments, blocks, poolName } = snapshot;
  const pools = new Map<string, ReturnType<typeof unused>>();
  for (let i = 0; i < segments.count; i++) {
    const device = segments.device[i] as number;
    const pool = poolName(segments.pool[i] as number);
    const key = `${device} ${pool}`;
    const use = pools.get(key) ?? unused(device, pool);
    pools.set(key, use);
    const total = segments.totalSize[i] as number;
    use.segments++;
    use.reserved_bytes += total;
    let busy = false;
    for (let b = segments.firstBlock[i] as number; b < (segments.firstBlock[i + 1] as number); b++) {
      const size = blocks.size[b] as number;
      switch (blocks.state[b]) {
        case State.allocated:
          use.allocated_bytes += size;
          use.requested += blocks.requested[b] as number;
          busy = true;
          break;
        case State.pendingFree:
        case State.awaitingFree:
          use.pending_free_bytes += size;
          busy = true;
          break;
        default:
          use.inactive_bytes += size;
          use.largest_inactive_bytes = Math.max(use.largest_inactive_bytes, size);
      }
    }
    if (!busy) use.releasable_bytes += total;
  }
  return [...pools.values()]
    .map(({ requested, ...use }) => ({
      ...use,
      requested_bytes: Number.isNaN(requested) ? null : requested,
      rounding_bytes: Number.isNaN(requested) ? null : use.allocated_bytes - requested,
      fragmentation: use.inactive_bytes > 0 ? 1 - use.largest_inactive_bytes / use.inactive_bytes : null,
    }))
    .sort((a, b) => a.device - b.device || (a.pool < b.pool ? -1 : 1));
}
