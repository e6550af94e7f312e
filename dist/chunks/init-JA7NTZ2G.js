import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as s,b as n}from"./chunk-74BTALFN.js";import"./chunk-NYRTOUVY.js";import{existsSync as c,mkdirSync as u,writeFileSync as l}from"node:fs";import d from"node:path";var h=`# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 900                   # seconds for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is judged by what it becomes there
    # budget: { allocated: 12GiB }   # absolute limits on peaks: allocated, reserved, used or host
    # repeats: auto                  # one run, more only to confirm a breach

baseline: file:baselines             # reviewed in pull requests; \`stormlog-gate baseline refresh\` writes it

# policy:
#   unjudged: warn                   # when there is nothing comparable: fail, warn or pass (it never reads as a pass)
#   base-run: auto                   # run the base commit here before red: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`,p=`# Memory gate: measures every pull request against the stored baselines.
name: memory gate
on:
  pull_request:
permissions: {}
jobs:
  gate:
    runs-on: ubuntu-latest           # or the label of your GPU runner
    permissions:
      contents: read
      pull-requests: write           # for the one comment; without it the verdict is in the job summary
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          fetch-depth: 0             # the merge base is run again before a red verdict
          persist-credentials: false
      - uses: stormlog/gate@v1
        with:
          config: stormlog-gate.yml
`,f={"stormlog-gate.yml":h,".github/workflows/memory-gate.yml":p},v={name:"init",description:"Write a commented stormlog-gate.yml and the workflow",positionals:[],options:{force:{type:"boolean",description:"Overwrite files that exist"}},run:async({flags:i,console:t})=>{let r=[],o=[];for(let[e,a]of Object.entries(f)){if(c(e)&&i.force!==!0){o.push(e);continue}try{u(d.dirname(e),{recursive:!0}),l(e,a)}catch(m){throw new n("WRITE_FAILED",`${e} cannot be written: ${m.message}`,{kind:"error",where:e})}r.push(e)}for(let e of r)t.print(`wrote  ${e}`);for(let e of o)t.print(`kept   ${e} (it exists; --force overwrites)`);return t.print("\nNext: put your command into stormlog-gate.yml, then `stormlog-gate baseline refresh` and commit baselines/."),t.document({written:r,kept:o}),s.pass}};export{v as init};
