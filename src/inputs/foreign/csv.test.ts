import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GateError } from "../../core/errors.ts";
import { draws } from "../../core/testing/draws.ts";
import { isGenericHeader, isGpuLogHeader, isNvidiaSmiHeader } from "./csv/dialects.ts";
import { detectDelimiter } from "./csv/scan.ts";
import { parseGenericCsv, parseNvidiaSmiCsv } from "./delimited.ts";

const generic = (text: string | Buffer, delimiter = ",") => parseGenericCsv([Buffer.from(text)], delimiter, "in.csv");
const nvidia = (text: string) => parseNvidiaSmiCsv([Buffer.from(text)], ",", "smi.csv");
const failure = (work: () => unknown): { code: string; message: string } => {
  try {
    work();
  } catch (error) {
    if (error instanceof GateError) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: "none", message: "" };
};
const MIB = 2 ** 20;

describe("parseGenericCsv", () => {
  it("keeps nanosecond time stamps exact", () => {
    const { recording } = generic(
      "timestamp_ns,allocated_bytes\n1700000000123456789,1\n1700000000123456790,2\n1700000001123456789,3\n",
    );
    expect(recording.epochNs).toBe(1700000000123456789n);
    expect([...recording.tables[0]!.timeNs!]).toEqual([0, 1, 1e9]);
  });

  it("reads relative seconds from their own zero and Unix seconds from the first", () => {
    expect([...generic("time_s,used_bytes\n0.5,1\n1,1\n").recording.tables[0]!.timeNs!]).toEqual([5e8, 1e9]);
    const unix = generic("time_s,used_bytes\n1762903990,1\n1762904051.5,1\n").recording;
    expect(unix.epochNs).toBe(1762903990000000000n);
    expect([...unix.tables[0]!.timeNs!]).toEqual([0, 61.5e9]);
  });

  it("counts empty, N/A, NaN and infinite cells as missing, never as 0", () => {
    const { recording } = generic("step,allocated_bytes\n1,\n2,[N/A]\n3,NaN\n4,inf\n5,-Infinity\n6,nan\n7,10\n");
    expect([...recording.tables[0]!.columns.allocated!]).toEqual([NaN, NaN, NaN, NaN, NaN, NaN, 10]);
    expect(recording.missing).toEqual({ allocated_bytes: 6 });
    expect([...recording.tables[0]!.steps!]).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(recording.tables[0]!.timeNs).toBeNull();
  });

  it("rejects a negative byte count, naming line and column", () => {
    const { code, message } = failure(() => generic("step,allocated_bytes,host_bytes\n1,5,5\n2,5,-1\n"));
    expect(code).toBe("NEGATIVE_BYTES");
    expect(message).toContain('line 3, column "host_bytes"');
  });

  it("rejects byte counts beyond exact integers, and accepts the largest exact one", () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(generic(`step,used_bytes\n1,${most}\n`).recording.tables[0]?.columns.used?.[0]).toBe(most);
    for (const value of ["18446744073709551615", "1e300"]) {
      const { code, message } = failure(() => generic(`step,used_bytes\n1,5\n2,${value}\n`));
      expect(code).toBe("BYTES_TOO_LARGE");
      expect(message).toContain('line 3, column "used_bytes"');
    }
    expect(
      failure(() => nvidia("timestamp, memory.used [MiB]\n2026/03/01 12:00:00.500, 9000000000000 MiB\n")).code,
    ).toBe("BYTES_TOO_LARGE");
  });

  it("counts backward clocks and steps within each rank, for any interleaving of rows", () => {
    const inOrder = [0, 1, 2].flatMap((i) => [`0,${i},${i},5`, `1,${i},${i},5`]);
    const head = "rank,time_s,step,host_bytes\n";
    expect(generic(`${head}${inOrder.join("\n")}\n`).notes).toEqual([]);
    const { notes } = generic(`${head}${[...inOrder, "1,0.5,0,5"].join("\n")}\n`);
    expect(notes.join()).toContain("1 timestamps");
    expect(notes.join()).toContain("the step counter runs backwards once");
  });

  it("rejects words, wrong row lengths and a truncated last line, each with its code", () => {
    expect(failure(() => generic("step,allocated_bytes\n1,many\n"))).toMatchObject({ code: "CSV_NOT_A_NUMBER" });
    expect(failure(() => generic("step,allocated_bytes\n1\n2,3\n")).code).toBe("CSV_ROW_LENGTH");
    expect(failure(() => generic("step,rank,allocated_bytes\n1,0,3\n2,0")).code).toBe("INPUT_TRUNCATED");
    expect(failure(() => generic("step,allocated_bytes\n")).code).toBe("INPUT_EMPTY");
    expect(failure(() => generic("step,allocated_bytes,allocated_bytes\n1,2,3\n")).code).toBe("CSV_DUPLICATE_COLUMN");
    expect(failure(() => generic("rank,allocated_bytes\n-1,3\n")).code).toBe("RANK_INVALID");
  });

  it("accepts equal and backward timestamps in file order, with a note", () => {
    const { recording, notes } = generic("time_s,used_bytes\n3,1\n3,2\n1,3\n");
    expect([...recording.tables[0]!.columns.used!]).toEqual([1, 2, 3]);
    expect([...recording.tables[0]!.timeNs!]).toEqual([3e9, 3e9, 1e9]);
    expect(notes.join()).toContain("2 timestamps");
  });

  it("makes one table per rank and device, and drops columns that do not belong to a device", () => {
    const { recording } = generic(
      "step,rank,device,allocated_bytes,host_bytes\n1,1,cuda:1,5,\n1,0,cuda:0,6,\n1,0,host,,7\n2,1,cuda:1,8,\n",
    );
    expect(recording.tables.map(({ rank, device, columns }) => [rank, device, Object.keys(columns)])).toEqual([
      [0, "cuda:0", ["allocated"]],
      [0, "host", ["host"]],
      [1, "cuda:1", ["allocated"]],
    ]);
  });

  it("keeps a column that is empty everywhere, so that it is reported as unavailable", () => {
    const { recording } = generic("step,allocated_bytes\n1,[N/A]\n2,[N/A]\n");
    expect([...recording.tables[0]!.columns.allocated!]).toEqual([NaN, NaN]);
  });

  it("splits host and device memory without a device column", () => {
    const { recording } = generic("step,allocated_bytes,host_bytes\n1,5,6\n");
    expect(recording.tables.map(({ device, columns }) => [device, Object.keys(columns)])).toEqual([
      ["cuda:0", ["allocated"]],
      ["host", ["host"]],
    ]);
  });

  it("marks running maxima, and turns one with a level column into a known peak", () => {
    const alone = generic("step,reserved_bytes_highwater\n1,5\n2,6\n").recording;
    expect([...alone.tables[0]!.highwater]).toEqual(["reserved"]);
    const both = generic("step,allocated_bytes,allocated_bytes_highwater\n1,5,9\n2,6,12\n").recording;
    expect(both.tables[0]!.highwater.size).toBe(0);
    expect(both.peaks).toEqual([
      { rank: 0, device: "cuda:0", metric: "allocated", bytes: 12, kind: "exact", source: "allocated_bytes_highwater" },
    ]);
  });

  it("reads quoted cells, byte-order marks, UTF-16, CRLF, semicolons and tabs alike", () => {
    const plain = generic("step,device,allocated_bytes\n1,cuda:0,5\n2,cuda:0,6\n").recording;
    const variants: [string | Buffer, string][] = [
      ['"step","device","allocated_bytes"\r\n"1","cuda:0","5"\r\n"2","cuda:0","6"\r\n', ","],
      ["\ufeffstep,device,allocated_bytes\n1,cuda:0,5\n\n2,cuda:0,6", ","],
      ["step;device;allocated_bytes\n1;cuda:0;5\n2;cuda:0;6\n", ";"],
      ["Step\tDevice\tAllocated_Bytes\n1\tcuda:0\t5\n2\tcuda:0\t6\n", "\t"],
      [Buffer.from("\ufeffstep,device,allocated_bytes\r\n1,cuda:0,5\r\n2,cuda:0,6\r\n", "utf16le"), ","],
      [Buffer.from("step,device,allocated_bytes\n1,cuda:0,5\n2,cuda:0,6\n", "utf16le"), ","],
    ];
    for (const [text, delimiter] of variants) expect(generic(text, delimiter).recording).toEqual(plain);
  });

  it("unescapes quotes and keeps separators and line ends inside quoted cells", () => {
    const { recording } = generic('step,device,allocated_bytes\n1,"a ""b"", c\nd",5\n2,x,-1'.replace("-1", "7"));
    expect(recording.tables.map((table) => table.device)).toEqual(['a "b", c\nd', "x"]);
  });

  it("gives the same result for any split of the bytes into chunks", () => {
    const text = Buffer.from('time_s,device,allocated_bytes\r\n0.5,"cu""da:0",1e3\r\n1.5,"cu""da:0",2000\r\n2.5,x,');
    const whole = generic(text);
    for (let size = 1; size < 20; size++) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.subarray(i * size, (i + 1) * size),
      );
      expect(parseGenericCsv(chunks, ",", "in.csv")).toEqual(whole);
    }
  });

  it.each([
    ["timestamp", ["2026-11-23T10:00:00", "2026-11-23T10:00:00.5", "2026-11-23T10:00:02"]],
    ["timestamp", ["2026-11-23 12:00:00+02:00", "2026-11-23 08:30:00.5-0130", "2026-11-23T10:00:02Z"]],
    ["timestamp", ["1762903990", "1762903990.5", "1762903992"]],
    ["timestamp", ["1762903990000", "1762903990500", "1762903992000"]],
    ["timestamp", ["1762903990000000", "1762903990500000", "1762903992000000"]],
    ["elapsed_sec", ["0", "0.5", "2"]],
    ["seconds", ["0", "0.5", "2"]],
    ["time", ["0", "0.5", "2"]],
    ["time_ms", ["0", "500", "2000"]],
  ])("reads the clock %s of other loggers: %j", (name, times) => {
    const { recording } = generic(`${name},used_bytes\n${times.map((time) => `${time},5\n`).join("")}`);
    expect([...recording.tables[0]!.timeNs!]).toEqual([0, 5e8, 2e9]);
    expect(recording.missing).toEqual({});
  });

  it("notes what it assumes about a clock without a time zone or unit", () => {
    expect(generic("timestamp,used_bytes\n2026-11-23T10:00:00,5\n").notes).toEqual([
      "timestamps have no time zone and are read as UTC",
    ]);
    expect(generic("time,used_bytes\n1.5,5\n").notes).toEqual(["time without a unit: read as seconds"]);
    for (const head of ["timestamp,used_bytes\n1762903990", "elapsed_sec,used_bytes\n1.5"])
      expect(generic(`${head},5\n`).notes).toEqual([]);
  });

  it("reads iteration as the step, unless there is a step column", () => {
    const { recording, notes } = generic("iteration,allocated_bytes\n3,5\n4,6\n");
    expect([[...recording.tables[0]!.steps!], notes]).toEqual([[3, 4], []]);
    const both = generic("iteration,step,allocated_bytes\n3,30,5\n4,40,6\n");
    expect([[...both.recording.tables[0]!.steps!], both.notes]).toEqual([[30, 40], ["ignored column: iteration"]]);
  });

  it("reads the rest of a file whose clock or iteration is unreadable, and notes it", () => {
    const { recording, notes } = generic(
      "timestamp,iteration,used_bytes\n10:00:00,warm-up,5\n10:00:01,1,6\n,2,7\n2026-11-23T10:00:00Z,3,8\n",
    );
    const [table] = recording.tables;
    expect([...table!.columns.used!]).toEqual([5, 6, 7, 8]);
    expect([...table!.timeNs!]).toEqual([NaN, NaN, NaN, 0]);
    expect([...table!.steps!]).toEqual([NaN, 1, 2, 3]);
    expect(recording.missing).toEqual({ timestamp: 3, iteration: 1 });
    expect(notes).toEqual([
      '2 values of "timestamp" cannot be read, for example "10:00:00"',
      '1 value of "iteration" cannot be read, for example "warm-up"',
    ]);
  });

  it("names the columns that it ignores in one note", () => {
    expect(generic("time_s,timestamp,Loss,,allocated_bytes\n1,x,0.5,,5\n").notes).toEqual([
      "ignored columns: timestamp, loss",
    ]);
    const many = Array.from({ length: 15 }, (_, i) => `column${i}`);
    const { notes } = generic(`step,${many.join(",")},used_bytes\n1,${many.map(() => "1").join(",")},5\n`);
    expect(notes).toEqual([`ignored columns: ${many.slice(0, 12).join(", ")} and 3 more`]);
  });

  it("fails only with a GateError", () => {
    const cell = fc.oneof(
      fc.constantFrom("", "1", "-1", "nan", '"', '""', '"a', "1e9", "x", "[N/A]", "\r"),
      fc.string({ maxLength: 6 }),
    );
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 });
    fc.assert(
      fc.property(rows, (lines) => {
        for (const head of ["time_s,rank", "timestamp,iteration"])
          failure(() => generic(`${head},allocated_bytes\n${lines.map((line) => line.join(",")).join("\n")}`));
      }),
      { numRuns: draws(500) },
    );
  });
});

describe("parseNvidiaSmiCsv", () => {
  it("reads several GPUs with units, in MiB, by index", () => {
    const { recording } = nvidia(
      "timestamp, index, memory.used [MiB], memory.total [MiB]\n" +
        "2026/03/01 12:00:00.500, 0, 594 MiB, 24564 MiB\n2026/03/01 12:00:00.502, 1, 10 MiB, 24564 MiB\n" +
        "2026/03/01 12:00:01.500, 0, 2626 MiB, 24564 MiB\n2026/03/01 12:00:01.502, 1, [N/A], 24564 MiB\n",
    );
    expect(recording.tables.map((table) => table.device)).toEqual(["cuda:0", "cuda:1"]);
    expect([...recording.tables[0]!.columns.used!]).toEqual([594 * MIB, 2626 * MIB]);
    expect([...recording.tables[1]!.columns.used!]).toEqual([10 * MIB, Number.NaN]);
    expect([...recording.tables[1]!.timeNs!]).toEqual([2e6, 1.002e9]);
    expect(recording.missing).toEqual({ "memory.used": 1 });
    expect(recording.epochNs).toBe(BigInt(Date.UTC(2026, 2, 1, 12)) * 1_000_000n + 500_000_000n);
  });

  it("reads nounits logs, epoch seconds, and repeated headers of appended logs", () => {
    const header = "timestamp,memory.used,memory.total,utilization.gpu";
    const { recording } = nvidia(
      `${header}\n1762903990,1, 24564, 0\n${header}\n1762904051,594, 24564, [Not Supported]\n`,
    );
    expect([...recording.tables[0]!.columns.used!]).toEqual([MIB, 594 * MIB]);
    expect([...recording.tables[0]!.timeNs!]).toEqual([0, 61e9]);
  });

  it("reads offsets of time zones, Unix milliseconds and iterations", () => {
    const { recording, notes } = nvidia(
      "timestamp,index,iteration,memory.used\n2026-11-23T12:00:00+02:00,0,7,1\n2026-11-23T10:00:01Z,0,8,2\n",
    );
    expect([[...recording.tables[0]!.timeNs!], [...recording.tables[0]!.steps!]]).toEqual([
      [0, 1e9],
      [7, 8],
    ]);
    expect(notes).toEqual([]);
    const unix = nvidia("timestamp,index,memory.used\n1762903990000,0,1\n1762903990500,0,2\n").recording;
    expect([...unix.tables[0]!.timeNs!]).toEqual([0, 5e8]);
    expect(unix.epochNs).toBe(1762903990000000000n);
  });

  it("numbers GPUs by first appearance when only the uuid is there", () => {
    const { recording } = nvidia("uuid, memory.used [MiB]\nGPU-b, 1 MiB\nGPU-a, 2 MiB\nGPU-b, 3 MiB\n");
    expect([...recording.tables[0]!.columns.used!]).toEqual([MIB, 3 * MIB]);
    expect(recording.tables[0]!.timeNs).toBeNull();
  });

  it("rejects negative sizes, unknown units and truncated lines", () => {
    const text = (cell: string) => `index, memory.used [MiB]\n0, ${cell}\n`;
    expect(failure(() => nvidia(text("-5 MiB"))).code).toBe("NEGATIVE_BYTES");
    expect(failure(() => nvidia(text("5 furlongs"))).code).toBe("CSV_NOT_A_NUMBER");
    expect(failure(() => nvidia("index, memory.used [MiB]\n0, 5\n0")).code).toBe("INPUT_TRUNCATED");
  });
});

describe("headers", () => {
  it("headers distinguish the layouts", () => {
    expect(isGenericHeader(["time_s", "Allocated_Bytes"])).toBe(true);
    expect(isGenericHeader(["time_s", "loss"])).toBe(false);
    expect(isNvidiaSmiHeader(["timestamp", " memory.used [MiB]"])).toBe(true);
    expect(detectDelimiter("a;b;c,d")).toBe(";");
  });
});

describe("GPU logs of other tools", () => {
  const read = (text: string) => {
    expect(isGpuLogHeader((text.split("\n")[0] ?? "").split(","))).toBe(true);
    return nvidia(text);
  };

  it("GPU logs of other tools are read by the units in their column names, on the clock they have", () => {
    const { recording, notes } = read(
      "elapsed_sec,gpu_id,mem_used_mb,mem_total_gb,util\n0.5,1,100,80,3\n1.5,1,101.5,80,3\n1.5,0,7,80,3\n",
    );
    expect(notes).toEqual([]);
    const [first, second] = recording.tables;
    expect(first?.device).toBe("cuda:0");
    expect(second?.device).toBe("cuda:1");
    expect([...second!.timeNs!]).toEqual([5e8, 1.5e9]);
    expect([...second!.columns.used!]).toEqual([100 * MIB, 101.5 * MIB]);
    expect(second!.columns.total![0]).toBe(80 * 2 ** 30);
    const bytes = read("elapsed_ms,step,gpu_memory_used_bytes\n10,4,5000\n20,5,6000\n").recording.tables[0]!;
    expect([...bytes.columns.used!]).toEqual([5000, 6000]);
    expect([[...bytes.timeNs!], [...bytes.steps!]]).toEqual([
      [1e7, 2e7],
      [4, 5],
    ]);
  });

  it("GPU logs without a unit are read as MiB, or as bytes where no device has that many, with a note", () => {
    const mib = read("timestamp,memory_used\n2026-11-23T10:00:00.5Z,81000\n2026-11-23T10:00:01Z,\n");
    expect([...mib.recording.tables[0]!.columns.used!]).toEqual([81_000 * MIB, Number.NaN]);
    expect(mib.notes).toEqual([
      "no index or uuid column: all rows are read as one GPU",
      "memory_used without a unit: read as MiB",
    ]);
    const bytes = read("elapsed,memory_used,memory_total\n0,81000000000,85899345920\n1,81000000001,85899345920\n");
    expect([...bytes.recording.tables[0]!.columns.used!]).toEqual([81e9, 81e9 + 1]);
    expect(bytes.notes.at(-1)).toBe("memory_used, memory_total without a unit: read as bytes");
    const stated = read("elapsed,memory_used (MiB)\n0,5\n");
    expect(stated.recording.tables[0]!.columns.used![0]).toBe(5 * MIB);
    expect(read("elapsed,memory_used\n0,5 GiB\n1,7\n").recording.tables[0]!.columns.used![0]).toBe(5 * 2 ** 30);
  });
});
