import { METRICS } from "../../telemetry/recording/metrics.ts";

/** The commented configuration. Everything that is not commented out is valid. */
export const CONFIG = `# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 900                   # seconds for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is extrapolated to it
    # budget: { allocated: 12GiB }   # absolute limits on peaks, of any of these metrics:
    #   ${METRICS.join(", ")}
    # repeats: auto                  # one run, more only to confirm a breach

# Where accepted measurements are. Without this line the Action reads the hidden ref that the nightly workflow writes,
# then baselines/ in the repository; the command line reads baselines/, which \`stormlog-gate baseline refresh\` writes.
# baseline: file:baselines

# policy:
#   unjudged: warn                   # exit status when nothing is comparable: fail, warn or pass
#   base-run: auto                   # re-run the base commit before failing: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`;
