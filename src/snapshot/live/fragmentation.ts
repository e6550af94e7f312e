import { State, type TorchSnapshot } from "../model/snapshot.ts";

/** Use of the reserved memory of one pool of one device. Bytes. */
export interface PoolUse {
  readonly device: number;
  /** "a:b"; "0:0" is the allocator's own pool, others belong to CUDA graphs and user pools. */
  readonly pool: string;
  readonly segments: number;
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  /** Freed, but possibly still in use by another stream. */
  readonly pendingFreeBytes: number;
  /** Reserved and not in use: reserved - allocated - pending. */
  readonly inactiveBytes: number;
  readonly largestInactiveBytes: number;
  /** Segments without live blocks, which `empty_cache` would free. */
  readonly releasableBytes: number;
  /** Requested bytes of the allocated ones; null where the file does not contain them. */
  readonly requestedBytes: number | null;
  /** 1 - largest inactive block / inactive bytes: 0 = one block, near 1 = many; null without free memory. */
  readonly fragmentation: number | null;
}

/** Use by device and pool, ascending. */
export function poolUse(snapshot: TorchSnapshot): PoolUse[] {
  const { segments, blocks, poolName } = snapshot;
  const pools = new Map<string, { -readonly [K in keyof PoolUse]: PoolUse[K] } & { requested: number }>();
  for (let i = 0; i < segments.count; i++) {
    const device = segments.device[i] as number;
    const pool = poolName(segments.pool[i] as number);
    const key = `${device} ${pool}`;
    let use = pools.get(key);
    if (use === undefined) {
      use = {
        device,
        pool,
        segments: 0,
        reservedBytes: 0,
        allocatedBytes: 0,
        pendingFreeBytes: 0,
        inactiveBytes: 0,
        largestInactiveBytes: 0,
        releasableBytes: 0,
        requestedBytes: null,
        fragmentation: null,
        requested: 0,
      };
      pools.set(key, use);
    }
    const total = segments.totalSize[i] as number;
    use.segments++;
    use.reservedBytes += total;
    let busy = false;
    for (let b = segments.firstBlock[i] as number; b < (segments.firstBlock[i + 1] as number); b++) {
      const size = blocks.size[b] as number;
      switch (blocks.state[b]) {
        case State.allocated:
          use.allocatedBytes += size;
          use.requested += blocks.requested[b] as number;
          busy = true;
          break;
        case State.pendingFree:
        case State.awaitingFree:
          use.pendingFreeBytes += size;
          busy = true;
          break;
        default:
          use.inactiveBytes += size;
          use.largestInactiveBytes = Math.max(use.largestInactiveBytes, size);
      }
    }
    if (!busy) use.releasableBytes += total;
  }
  return [...pools.values()]
    .map(({ requested, ...use }) => ({
      ...use,
      requestedBytes: Number.isNaN(requested) ? null : requested,
      fragmentation: use.inactiveBytes > 0 ? 1 - use.largestInactiveBytes / use.inactiveBytes : null,
    }))
    .sort((a, b) => a.device - b.device || (a.pool < b.pool ? -1 : 1));
}
