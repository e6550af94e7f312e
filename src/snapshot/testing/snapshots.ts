import { type Plain, tuple } from "./pickle-writer.ts";

const MIB = 2 ** 20;
const BASE = 0x7f0000000000;

/** A snapshot of a small job with `entries` trace entries: one line leaks, one churns; blocks and trace agree. */
export function plainSnapshot(entries: number): Plain {
  const frame = (filename: string, line: number, name: string) => ({ name, filename, line });
  const inner = frame("/usr/lib/python3.11/site-packages/torch/nn/functional.py", 9, "linear");
  const leak = [inner, frame("/repo/train.py", 48, "training_step")];
  const churn = [inner, frame("/repo/model.py", 88, "forward")];
  const trace: Plain[] = [];
  const blocks: Plain[] = [];
  let time = 1_717_000_000_000_000;
  const note = (action: string, addr: number, size: number, frames: Plain): void => {
    time += 11;
    trace.push({ action, addr, size, stream: 0, time_us: time, compile_context: "N/A", frames });
  };
  for (let step = 0; trace.length + 4 <= entries; step++) {
    const scratch = BASE + step * 512;
    note("alloc", scratch, 4 * MIB, churn);
    const kept = BASE + 2 ** 34 + step * MIB;
    note("alloc", kept, 1000, leak);
    blocks.push({ address: kept, size: 1024, requested_size: 1000, state: "active_allocated", frames: leak });
    note("free_requested", scratch, 4 * MIB, churn);
    note("free_completed", scratch, 4 * MIB, churn);
  }
  return {
    segments: [
      {
        device: 0,
        address: BASE + 2 ** 34,
        total_size: 1024 * blocks.length,
        stream: 0,
        segment_type: "small",
        segment_pool_id: tuple(0, 0),
        is_expandable: false,
        frames: [],
        blocks,
      },
    ],
    device_traces: [trace],
    allocator_settings: { expandable_segments: false, roundup_power2_divisions: { "1": 0 } },
    external_annotations: [],
  };
}
