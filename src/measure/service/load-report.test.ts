import { describe, expect, it } from "vitest";
import { readReport } from "./load-report.ts";

describe("the requests of a load command", () => {
  it.each([
    ["wrk", "  12345 requests in 10.01s, 1.2MB read\nRequests/sec: 1233", 12_345, 0],
    [
      "wrk with errors",
      "  90 requests in 10.01s, 1MB read\n  Socket errors: connect 1, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 40",
      90,
      46,
    ],
    [
      "wrk without an answer",
      "  0 requests in 1.00s, 0.00B read\n  Socket errors: connect 8, read 0, write 0, timeout 0",
      0,
      8,
    ],
    [
      "k6",
      "     http_req_failed....: 1.50%  3 out of 200\n     http_reqs......................: 200   160.5/s",
      200,
      3,
    ],
    ["k6 without its checks", "     http_reqs......................: 4821   160.5/s", 4821, null],
    ["hey", "Status code distribution:\n  [200]\t198 responses\n  [500]\t2 responses", 200, 2],
    [
      "hey without an answer",
      'Error distribution:\n  [3]\tGet "http://x/": connect: connection refused\n  [7]\tGet "http://x/": EOF',
      10,
      10,
    ],
    [
      "ab",
      "Complete requests:      1000\nFailed requests:        30\n   (Connect: 0, Receive: 1, Length: 29, Exceptions: 0)",
      1000,
      1,
    ],
    [
      "ab with errors",
      "Complete requests:      1000\nFailed requests:        0\nNon-2xx responses:      1000",
      1000,
      1000,
    ],
    ["locust", "Aggregated   10  0(0.00%)\nAggregated   250  5(2.00%) | 12", 250, 5],
    ["vllm bench serve", "Successful requests:                     64\nFailed requests:    2", 66, 2],
    ["vllm bench serve of an earlier release", "Successful requests:                     64", 64, null],
  ])("requests and failures are read from the report of %s", (_, output, requests, failed) => {
    expect(readReport(output, null)).toEqual({ requests, failed });
  });

  it("requests are unknown in any other output, and found by a pattern of the scenario", () => {
    expect(readReport("sent 77 messages", null)).toEqual({ requests: null, failed: null });
    expect(readReport("sent 77 messages", String.raw`sent (\d+)`)).toEqual({ requests: 77, failed: null });
    expect(readReport("sent none", String.raw`sent (\d+)`).requests).toBeNull();
  });
});
