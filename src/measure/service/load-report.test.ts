import { describe, expect, it } from "vitest";
import { reportedRequests } from "./load-report.ts";

describe("the requests of a load command", () => {
  it.each([
    ["wrk", "  12345 requests in 10.01s, 1.2MB read\nRequests/sec: 1233", 12_345],
    ["k6", "     http_reqs......................: 4821   160.5/s", 4821],
    ["hey", "Status code distribution:\n  [200]\t198 responses\n  [500]\t2 responses", 200],
    ["ab", "Complete requests:      1000\nFailed requests:        0", 1000],
    ["locust", "Aggregated   10  0(0.00%)\nAggregated   250  0(0.00%) | 12", 250],
    ["vllm bench serve", "Successful requests:                     64", 64],
  ])("requests are read from the report of %s", (_, output, requests) => {
    expect(reportedRequests(output, null)).toBe(requests);
  });

  it("requests are unknown in any other output, and found by a pattern of the scenario", () => {
    expect(reportedRequests("sent 77 messages", null)).toBeNull();
    expect(reportedRequests("sent 77 messages", String.raw`sent (\d+)`)).toBe(77);
    expect(reportedRequests("sent none", String.raw`sent (\d+)`)).toBeNull();
  });
});
