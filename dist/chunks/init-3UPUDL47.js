import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as q}from"./chunk-ZWBOSFDR.js";import"./chunk-HMF4CEVU.js";import{g as h}from"./chunk-ZGG43E6R.js";import{a as I,b as j}from"./chunk-SVGI36VZ.js";import"./chunk-PHT2PNQW.js";import{c as m}from"./chunk-WNARLFZJ.js";import{b as _}from"./chunk-CJOW2IPM.js";import{c as S}from"./chunk-HRJ6LQQB.js";import"./chunk-QPHGJWER.js";import"./chunk-EW7W6UVU.js";import{m as A}from"./chunk-XDJZU67E.js";import"./chunk-GYRCDFWZ.js";import{b as E}from"./chunk-PZZNH2U2.js";import"./chunk-IF7QVOPQ.js";import"./chunk-U5UJSTM5.js";import{a as O,b as x,d as w,e as C}from"./chunk-ITTMPAFD.js";import"./chunk-EEEC4TXW.js";import{appendFileSync as fe,existsSync as $,readFileSync as H,writeFileSync as ge}from"node:fs";import g from"node:path";function L(e){return`# Memory accept: a comment \`/stormlog accept <difference> <reason>\` by someone with write permission accepts what the gate found,
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
`}import{readFileSync as ee}from"node:fs";import te from"node:path";var d="actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",b="v1 # zizmor: ignore[unpinned-uses] replace v1 with the commit of a release to pin it";function P(e=S()){let t;try{t=JSON.parse(ee(te.join(e,"dist","release.json"),"utf8"))}catch{return b}if(typeof t!="object"||t===null)return b;let{commit:r,version:n}=t;return typeof r!="string"||!/^[0-9a-f]{40}$/.test(r)?b:typeof n=="string"&&/^\d+\.\d+\.\d+$/.test(n)?`${r} # v${n}`:r}function f(e){return JSON.stringify(e)}function k(e){return f(e.replace(/[*?+[\]!]/g,"\\$&"))}function y(e,t){return Object.entries(t).flatMap(([n,o])=>o===null?[]:[`${" ".repeat(e)}${n}: ${o}
`]).join("")}function T(e){let t=e.directory===""?"stormlog-gate.yml":`${e.directory}/stormlog-gate.yml`,r=e.directory===""?null:f(e.directory),n=y(10,{"working-directory":r,accept:"${{ inputs.accept }}"});return`# Memory baselines: measures the main branch every night and adds the session to the hidden ref that the gate reads.
name: Memory baselines

on:
  schedule:
    - cron: "17 3 * * *"               # UTC; not on the hour, when many start
  push:
    branches: [${k(e.defaultBranch)}]
    # A new scenario need not wait for the nightly run.
    paths: [${k(t)}]
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
    name: Measure baselines
    runs-on: ${e.runsOn}
    timeout-minutes: 125
    permissions:
      contents: read
    steps:
      - uses: ${d}
        with:
          fetch-depth: 0
          persist-credentials: false
      # Install what your command needs here, as in memory-gate.yml: another environment is another baseline.
      - uses: stormlog/gate/refresh@${e.pin}
        with:
${n}          stage: measure
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
      - uses: ${d}
        with:
          persist-credentials: false
      - uses: stormlog/gate/refresh@${e.pin}
        with:
${n}          stage: write
          timeout-minutes: 10
`}var re="ubuntu-24.04",ne=/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/,oe=/^(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z][A-Za-z0-9_.-]*$/i,se=/^(ubuntu|windows|macos)-/;function W(e){if(e===void 0)return{runsOn:re,ownRunner:!1};let t=e.split(",").map(o=>o.trim()),r=t.find(o=>!ne.test(o));if(r!==void 0)throw w("OPTION_INVALID",`--runner has "${r}", which is not a runner label`,"Give a label as in --runner gpu, or several as in --runner self-hosted,gpu.");let n=t.map(o=>oe.test(o)?o:JSON.stringify(o));return{runsOn:n.length===1?n[0]:`[${n.join(", ")}]`,ownRunner:!t.some(o=>se.test(o))}}function N(e){switch(e){case"public":case"private":return e;case void 0:return"unknown";default:throw w("OPTION_INVALID",`--visibility is "${e}"`,"It takes public or private.")}}var F=`# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 900                   # seconds for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is extrapolated to it
    # budget: { allocated: 12GiB }   # absolute limits on peaks, of any of these metrics:
    #   ${E.join(", ")}
    # repeats: auto                  # one run, more only to confirm a breach

# Where accepted measurements are. Without this line the Action reads the hidden ref that the nightly workflow writes,
# then baselines/ in the repository; the command line reads baselines/, which \`stormlog-gate baseline refresh\` writes.
# baseline: file:baselines

# policy:
#   unjudged: warn                   # exit status when nothing is comparable: fail, warn or pass
#   base-run: auto                   # re-run the base commit before failing: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`;import{readdirSync as ie,readFileSync as ae}from"node:fs";import D from"node:path";var G=".github/workflows";async function ue(e){let t=await h(e,["symbolic-ref","--quiet","--short","refs/remotes/origin/HEAD"]);if(t.ok&&t.stdout.startsWith("origin/"))return t.stdout.slice(7);for(let n of["main","master"])for(let o of[`refs/remotes/origin/${n}`,`refs/heads/${n}`])if((await h(e,["show-ref","--verify","--quiet",o])).ok)return n;let r=await h(e,["symbolic-ref","--quiet","--short","HEAD"]);return r.ok&&r.stdout!==""?r.stdout:"main"}function ce(e){let t;try{t=ie(D.join(e,G))}catch{return[]}return t.filter(r=>/\.ya?ml$/.test(r)).filter(r=>{try{let n=ae(D.join(e,G,r),"utf8");return/^\s*(?:-\s+)?uses:\s*["']?stormlog\/gate[/@]/m.test(n)}catch{return!1}}).sort()}function me(e){let[t=""]=e.trim().split(`
`);return t===""?null:t.replace(/^fatal: /,"")}async function M(e){let t=await h(e,["rev-parse","--show-toplevel","--show-prefix"]),[r,n=""]=t.stdout.split(`
`),o=t.ok&&r!==void 0&&r!=="",i=o?r:e;return{top:i,directory:o?n.replace(/\/$/,""):"",inRepository:o,refused:o||/not a git repository/i.test(t.stderr)?null:me(t.stderr),defaultBranch:await ue(e),gated:ce(i)}}var v="Memory gate",le=`    # One job per GPU at a time: a neighbour on the same card is measured too. A runner takes one job at a time, so one
    # runner per card is enough; docs/gpu-runners.md has containers and Kubernetes.
`,pe=`    # Anyone can open a pull request here, and its code runs on this machine: let pull requests of outside contributors
    # wait for approval (Settings, Actions), and use runners that are thrown away after one job.
`;function B(e){let t=e.ownRunner?le+(e.visibility==="private"?"":pe):"",r=e.directory===""?null:f(e.directory);return`# Memory gate: measures every pull request against the stored baselines and keeps one comment on it.
name: ${v}

on:
  pull_request:
  # merge_group:                       # add it when this check is required and the repository has a merge queue

permissions: {}

concurrency:
  group: memory-gate-\${{ github.ref }}
  cancel-in-progress: true

jobs:
  # Runs the code of the change, so its token can only read.
  gate:
    name: Measure
${t}    runs-on: ${e.runsOn}
    timeout-minutes: 65
    permissions:
      contents: read
      pull-requests: read            # what people accepted
    steps:
      - uses: ${d}
        with:
          fetch-depth: 0               # the merge base is run again before a red verdict
          persist-credentials: false
      # Install what your command needs here. Give this job no secrets.
      - uses: stormlog/gate@${e.pin}
        with:
${y(10,{"working-directory":r})}          comment: never               # the job below writes it
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
# With a matrix, give every leg of \`gate\` the input \`matrix: \${{ toJSON(matrix) }}\`, and replace \`report\` by
# one job of them all, which is then the check to require:
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
`}function z(e){return`# Memory report: the comment on pull requests of forks, whose own run may only read. It is safe to run with a writing token
# because it checks nothing out and runs nothing of the fork: it reads the numbers of that run, checks them, and renders
# everything itself.
name: Memory report

on:
  workflow_run: # zizmor: ignore[dangerous-triggers] no code, text or picture of the other run is used
    workflows: [${v}]
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
`}var he=[m.bundle,m.recording,m.merged,m.demo,m.bisect,m.culprit,I,j];function de(e,t){let r=e.trim().replace(/^(\*\*\/|\/)/,"").replace(/\/(\*\*?)?$/,"");return r===t||r==="stormlog-*"}function U(e){let t=(e??"").split(/\r?\n/),r=he.filter(i=>!t.some(c=>de(c,i)));if(r.length===0)return"";let n=e?.includes(`\r
`)?`\r
`:`
`;return[`${e===null||e===""?"":/\n$/.test(e)?n:n+n}# Evidence of Stormlog Gate`,...r.map(i=>`${i}/`),""].join(n)}function K(e){let{choices:t,inRepository:r,others:n,elsewhere:o,refused:i,program:c}=e,p=[`Put your command into stormlog-gate.yml and try it: ${c} run`,"Add what the scenarios need (Python, data) to memory-gate.yml and memory-baselines.yml where they are marked.",`Commit and merge into ${t.defaultBranch}: schedules, reports on forks and comments run from there only.`,`Protect ${t.defaultBranch} and start "Memory baselines" once by hand (Actions, Run workflow): the first five runs.`],a=[];if(r||a.push(`${i===null?"This is not a git repository":`git finds no repository here (${i})`}: put .github/workflows at the top of the one this directory goes into.`),o.length>0){let u=o.join(" and ");a.push(`${u} measures another directory and not this one: add a step with this working-directory and a gate-id of its own, or put all scenarios into one configuration (examples/monorepo).`)}return n.length>0&&a.push(`${n.join(", ")} uses the gate already; keep one of the two, or give them different gate-ids.`),t.ownRunner||a.push("The job measures on a machine without a GPU. --runner LABELS names yours."),t.ownRunner&&t.visibility!=="private"&&a.push("If the repository is public, code of unknown people runs on your runner: require approval for outside contributors first."),t.visibility==="unknown"&&a.push("--visibility private makes the comment's picture one that only your readers can open."),["","Next:",...p.map((u,l)=>`  ${l+1}. ${u}`),...a.length===0?[]:["",...a.map(u=>`note: ${u}`)]]}var ye="stormlog-gate.yml",J={"memory-gate.yml":B,"memory-baselines.yml":T,"memory-report.yml":z,"memory-accept.yml":L};function we(e,t,r){let n=Object.entries(J).map(([o,i])=>({path:g.join(e.top,".github","workflows",o),text:i(t)}));return[{path:g.join(r,ye),text:F},...n]}function V(e){let t=[...e.matchAll(/^\s*working-directory:\s*["']?(.*?)["']?\s*$/gm)].map(([,r=""])=>r);return new Set(t.length===0?[""]:t)}function be({path:e,text:t}){if(!/uses: stormlog\/gate(?:\/refresh)?@/.test(t))return!0;try{let r=V(H(e,"utf8"));return[...V(t)].every(n=>r.has(n))}catch{return!0}}function ke(e){let t="";return Z(e,()=>{t=U($(e)?H(e,"utf8"):null),t!==""&&fe(e,t)}),t!==""}function Z(e,t){try{t()}catch(r){throw new x("WRITE_FAILED",`${e} cannot be written: ${C(r)}`,{kind:"error",where:e})}}async function mt({flags:e,text:t,console:r}){let n=process.cwd(),o=await M(n),i={...W(t.runner),visibility:N(t.visibility),defaultBranch:o.defaultBranch,directory:o.directory,pin:P()},c=[],p=[],a=[],u=s=>g.relative(n,s)||s;for(let s of we(o,i,n)){if($(s.path)&&e.force!==!0){p.push(u(s.path)),be(s)||a.push(u(s.path));continue}Z(s.path,()=>{A(g.dirname(s.path)),ge(s.path,s.text)}),c.push(u(s.path))}let l=g.join(o.top,".gitignore"),R=(o.inRepository||$(l))&&ke(l),Y=new Set(Object.keys(J)),Q=o.gated.filter(s=>!Y.has(s)),X=[...c.map(s=>`wrote  ${s}`),...R?[`added  the directories of evidence to ${u(l)}`]:[],...p.map(s=>`kept   ${s} (it exists; --force overwrites)`),...K({choices:i,inRepository:o.inRepository,others:Q,elsewhere:a,refused:o.refused,program:q()})];for(let s of X)r.print(_(s));return r.document({written:R?[...c,u(l)]:c,kept:p}),O.pass}export{mt as init};
