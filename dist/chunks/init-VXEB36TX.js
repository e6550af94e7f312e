import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{g as p}from"./chunk-3L7AJJZD.js";import{c as E}from"./chunk-WLC7D5RT.js";import{a as x,b as C}from"./chunk-ICKR662C.js";import{c as u}from"./chunk-VX5BE2SR.js";import"./chunk-6WIC4Y3M.js";import"./chunk-LICXCVP5.js";import{b as O}from"./chunk-FHUWRRBH.js";import{a as _}from"./chunk-3KM5FBSQ.js";import"./chunk-PIHS2AGL.js";import"./chunk-GYRCDFWZ.js";import"./chunk-GHIQF64M.js";import"./chunk-U5UJSTM5.js";import{a as $,b as R,d as y}from"./chunk-74BTALFN.js";import"./chunk-EEEC4TXW.js";import{appendFileSync as ue,existsSync as v,readFileSync as ce,writeFileSync as me}from"node:fs";import h from"node:path";function I(e){return`# Memory accept: a comment \`/stormlog accept <difference> <reason>\` by someone with write permission accepts what the gate found,
# and the failed check is run again. It runs no code of the change.
name: Memory accept

on:
  issue_comment: # zizmor: ignore[dangerous-triggers] the comment is read as a command and proven by the API; nothing is checked out
    types: [created]

permissions: {}

# One group per comment: a run that waits in a group is dropped when another arrives.
concurrency:
  group: memory-accept-\${{ github.event.comment.id }}
  cancel-in-progress: false

jobs:
  accept:
    name: Accept
    if: github.event.issue.pull_request && contains(github.event.comment.body, '/stormlog accept')
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      actions: write                   # runs the failed jobs again
      contents: read
      pull-requests: write             # the reaction, or one short reply
    steps:
      - uses: stormlog/gate/accept@${e.pin}
`}import{readFileSync as H}from"node:fs";import J from"node:path";var l="actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",w="v1 # zizmor: ignore[unpinned-uses] replace v1 with the commit of a release to pin it";function j(e=E()){let t;try{t=JSON.parse(H(J.join(e,"dist","release.json"),"utf8"))}catch{return w}if(typeof t!="object"||t===null)return w;let{commit:r,version:o}=t;return typeof r!="string"||!/^[0-9a-f]{40}$/.test(r)?w:typeof o=="string"&&/^\d+\.\d+\.\d+$/.test(o)?`${r} # v${o}`:r}function c(e){return JSON.stringify(e)}function A(e){return c(e.replace(/[+!]/g,"\\$&"))}function g(e,t){return Object.entries(t).flatMap(([o,n])=>n===null?[]:[`${" ".repeat(e)}${o}: ${n}
`]).join("")}function q(e){let t=e.directory===""?"stormlog-gate.yml":`${e.directory}/stormlog-gate.yml`,r=e.directory===""?null:c(e.directory),o=g(10,{"working-directory":r,accept:"${{ inputs.accept }}"});return`# Memory baselines: measures the main branch every night and adds the session to the hidden ref that the gate reads.
name: Memory baselines

on:
  schedule:
    - cron: "17 3 * * *"               # UTC; not on the hour, when many start
  push:
    branches: [${A(e.defaultBranch)}]
    # A new scenario need not wait for the nightly run.
    paths: [${c(t)}]
  workflow_dispatch:                   # for the first baseline, and to accept a new level
    inputs:
      accept:
        description: Reason for accepting what is measured now as the new level. Empty = it is judged.
        type: string

permissions: {}

# One session at a time; one that has begun is kept.
concurrency:
  group: memory-baselines
  cancel-in-progress: false

jobs:
  # Runs the program, so its token can only read.
  measure:
    name: Measure
    runs-on: ${e.runsOn}
    timeout-minutes: 125
    permissions:
      contents: read
    steps:
      - uses: ${l}
        with:
          fetch-depth: 0
          persist-credentials: false
      # Install what your command needs here, as in memory-gate.yml: another environment is another baseline.
      - uses: stormlog/gate/refresh@${e.pin}
        with:
${o}          stage: measure
          timeout-minutes: 120

  # Checks and stores what was measured, and runs nothing of the program, so its token may write.
  store:
    name: Store
    needs: measure
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    permissions:
      contents: write                  # the baselines, on a hidden ref
      issues: write                    # one issue when the main branch grows
      pull-requests: write             # one pull request when the release anchor is exceeded
    steps:
      - uses: ${l}
        with:
          persist-credentials: false
      - uses: stormlog/gate/refresh@${e.pin}
        with:
${o}          stage: write
          timeout-minutes: 10
`}var Z="ubuntu-24.04",Y=/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/,Q=/^(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z][A-Za-z0-9_.-]*$/i,X=/^(ubuntu|windows|macos)-/;function S(e){if(e===void 0)return{runsOn:Z,ownRunner:!1};let t=e.split(",").map(n=>n.trim()),r=t.find(n=>!Y.test(n));if(r!==void 0)throw y("OPTION_INVALID",`--runner has "${r}", which is not a runner label`,"Give a label as in --runner gpu, or several as in --runner self-hosted,gpu.");let o=t.map(n=>Q.test(n)?n:JSON.stringify(n));return{runsOn:o.length===1?o[0]:`[${o.join(", ")}]`,ownRunner:!t.some(n=>X.test(n))}}function L(e){switch(e){case"public":case"private":return e;case void 0:return"unknown";default:throw y("OPTION_INVALID",`--visibility is "${e}"`,"It takes public or private.")}}var P=`# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 900                   # seconds for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is extrapolated to it
    # budget: { allocated: 12GiB }   # absolute limits on peaks: allocated, reserved, used or host
    # repeats: auto                  # one run, more only to confirm a breach

# Where accepted measurements are. Without this line the Action reads the hidden ref that the nightly workflow writes,
# then baselines/ in the repository; the command line reads baselines/, which \`stormlog-gate baseline refresh\` writes.
# baseline: file:baselines

# policy:
#   unjudged: warn                   # exit status when nothing is comparable: fail, warn or pass
#   base-run: auto                   # re-run the base commit before failing: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`;import{readdirSync as ee,readFileSync as te}from"node:fs";import W from"node:path";var T=".github/workflows";async function re(e){let t=await p(e,["symbolic-ref","--quiet","--short","refs/remotes/origin/HEAD"]);if(t.ok&&t.stdout.startsWith("origin/"))return t.stdout.slice(7);for(let o of["main","master"])for(let n of[`refs/remotes/origin/${o}`,`refs/heads/${o}`])if((await p(e,["show-ref","--verify","--quiet",n])).ok)return o;let r=await p(e,["symbolic-ref","--quiet","--short","HEAD"]);return r.ok&&r.stdout!==""?r.stdout:"main"}function oe(e){let t;try{t=ee(W.join(e,T))}catch{return[]}return t.filter(r=>/\.ya?ml$/.test(r)).filter(r=>{try{let o=te(W.join(e,T,r),"utf8");return/^\s*(?:-\s+)?uses:\s*["']?stormlog\/gate[/@]/m.test(o)}catch{return!1}}).sort()}async function N(e){let t=await p(e,["rev-parse","--show-toplevel","--show-prefix"]),[r,o=""]=t.stdout.split(`
`),n=t.ok&&r!==void 0&&r!=="",s=n?r:e;return{top:s,directory:n?o.replace(/\/$/,""):"",inRepository:n,defaultBranch:await re(e),gated:oe(s)}}var b="Memory gate",ne=`    # One job per GPU at a time: a neighbour on the same card is measured too. A runner takes one job at a time, so one
    # runner per card is enough; docs/gpu-runners.md has containers and Kubernetes.
`,se=`    # Anyone can open a pull request here, and its code runs on this machine: let pull requests of outside contributors
    # wait for approval (Settings, Actions), and use runners that are thrown away after one job.
`;function F(e){let t=e.ownRunner?ne+(e.visibility==="private"?"":se):"",r=e.directory===""?null:c(e.directory);return`# Memory gate: measures every pull request against the stored baselines and keeps one comment on it.
name: ${b}

on:
  pull_request:
    types: [opened, synchronize, reopened, closed] # closed: the pictures of the pull request are removed
  # merge_group:                       # add it when this check is required and the repository has a merge queue

permissions: {}

concurrency:
  group: memory-gate-\${{ github.ref }}
  cancel-in-progress: true

jobs:
  # Runs the code of the change, so its token can only read.
  gate:
    name: Measure
    if: github.event.action != 'closed'
${t}    runs-on: ${e.runsOn}
    timeout-minutes: 65
    permissions:
      contents: read
      pull-requests: read            # what people accepted
    steps:
      - uses: ${l}
        with:
          fetch-depth: 0               # the merge base is run again before a red verdict
          persist-credentials: false
      # Install what your command needs here. Give this job no secrets.
      - uses: stormlog/gate@${e.pin}
        with:
${g(10,{"working-directory":r})}          comment: never               # the job below writes it
          timeout-minutes: 60          # below the job's own limit, so that a timeout leaves evidence

  # Runs nothing of the change, so its token may write. Pull requests of forks are reported by memory-report.yml.
  report:
    name: Report
    needs: gate
    if: \${{ !cancelled() && github.event.pull_request.head.repo.full_name == github.repository }}
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      contents: write                  # the timeline's picture, on a hidden ref
      pull-requests: write             # the comment
    steps:
      - uses: stormlog/gate/report@${e.pin}
${e.visibility==="private"?`        with:
          image: ref                   # a private repository shows its own pictures to those who may see it
`:""}
# With a matrix, give every leg of the job above \`matrix: \${{ toJSON(matrix) }}\` and make one job of them all, which
# is then the check to require:
#
#   merge:
#     needs: gate
#     if: always()                     # a required check that is skipped counts as passed
#     runs-on: ubuntu-24.04
#     permissions:
#       contents: write
#       pull-requests: write
#     steps:
#       - uses: stormlog/gate/merge@${e.pin}
#         with:
#           expect: 4                  # legs; a missing one is never a pass
#           result: \${{ needs.gate.result }}
`}function D(e){return`# Memory report: the comment on pull requests of forks, whose own run may only read. It is safe to run with a writing token
# because it checks nothing out and runs nothing of the fork: it reads the numbers of that run, checks them, and renders
# everything itself.
name: Memory report

on:
  workflow_run: # zizmor: ignore[dangerous-triggers] no code, text or picture of the other run is used
    workflows: [${b}]
    types: [completed]

permissions: {}

concurrency:
  group: memory-report-\${{ github.event.workflow_run.head_repository.full_name }}-\${{ github.event.workflow_run.head_branch }}
  cancel-in-progress: true

jobs:
  report:
    name: Report
    if: >-
      github.event.workflow_run.event == 'pull_request' &&
      github.event.workflow_run.head_repository.full_name != github.repository
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      actions: read                    # the other run's artifacts
      contents: write                  # the timeline's picture, on a hidden ref
      pull-requests: write             # the comment
    steps:
      - uses: stormlog/gate/report@${e.pin}
`}var ie=[u.bundle,u.recording,u.merged,u.demo,u.bisect,u.culprit,x,C];function ae(e,t){let r=e.trim().replace(/^(\*\*\/|\/)/,"").replace(/\/(\*\*?)?$/,"");return r===t||r==="stormlog-*"}function G(e){let t=(e??"").split(/\r?\n/),r=ie.filter(s=>!t.some(a=>ae(a,s)));if(r.length===0)return"";let o=e?.includes(`\r
`)?`\r
`:`
`;return[`${e===null||e===""?"":/\n$/.test(e)?o:o+o}# Evidence of Stormlog Gate`,...r.map(s=>`${s}/`),""].join(o)}function B(e){let{choices:t,inRepository:r,others:o}=e,n=["Put your command into stormlog-gate.yml and try it: stormlog-gate run","Add what the scenarios need (Python, data) to memory-gate.yml and memory-baselines.yml where they are marked.",`Commit and merge into ${t.defaultBranch}: schedules, reports on forks and comments run from there only.`,`Protect ${t.defaultBranch} and start "Memory baselines" once by hand (Actions, Run workflow): the first five runs.`],s=[];return r||s.push("This is not a git repository: put .github/workflows at the top of the one this directory goes into."),o.length>0&&s.push(`${o.join(", ")} uses the gate already; keep one of the two, or give them different gate-ids.`),t.ownRunner||s.push("The job measures on a machine without a GPU. --runner LABELS names yours."),t.ownRunner&&t.visibility!=="private"&&s.push("If the repository is public, code of unknown people runs on your runner: require approval for outside contributors first."),t.visibility==="unknown"&&s.push("--visibility private makes the comment's picture one that only your readers can open."),["","Next:",...n.map((a,m)=>`  ${m+1}. ${a}`),...s.length===0?[]:["",...s.map(a=>`note: ${a}`)]]}var pe="stormlog-gate.yml",M={"memory-gate.yml":F,"memory-baselines.yml":q,"memory-report.yml":D,"memory-accept.yml":I};function le(e,t,r){let o=Object.entries(M).map(([n,s])=>({path:h.join(e.top,".github","workflows",n),text:s(t)}));return[{path:h.join(r,pe),text:P},...o]}function he(e){let t="";return z(e,()=>{t=G(v(e)?ce(e,"utf8"):null),t!==""&&ue(e,t)}),t!==""}function z(e,t){try{t()}catch(r){throw new R("WRITE_FAILED",`${e} cannot be written: ${r.message}`,{kind:"error",where:e})}}async function tt({flags:e,text:t,console:r}){let o=process.cwd(),n=await N(o),s={...S(t.runner),visibility:L(t.visibility),defaultBranch:n.defaultBranch,directory:n.directory,pin:j()},a=[],m=[],d=i=>h.relative(o,i)||i;for(let i of le(n,s,o)){if(v(i.path)&&e.force!==!0){m.push(d(i.path));continue}z(i.path,()=>{_(h.dirname(i.path)),me(i.path,i.text)}),a.push(d(i.path))}let f=h.join(n.top,".gitignore"),k=(n.inRepository||v(f))&&he(f),U=new Set(Object.keys(M)),K=n.gated.filter(i=>!U.has(i)),V=[...a.map(i=>`wrote  ${i}`),...k?[`added  the directories of evidence to ${d(f)}`]:[],...m.map(i=>`kept   ${i} (it exists; --force overwrites)`),...B({choices:s,inRepository:n.inRepository,others:K})];for(let i of V)r.print(O(i));return r.document({written:k?[...a,d(f)]:a,kept:m}),$.pass}export{tt as init};
