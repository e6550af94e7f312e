import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{c as A}from"./git-repository-view.js";import{b as I}from"./cli-console-program.js";import"./git-fetch.js";import{g as d}from"./git-git.js";import{a as O,b as j}from"./cli-lab-options.js";import{d as f}from"./cli-console-console.js";import"./verdict-model-defaults.js";import{c as l}from"./config-run-options.js";import"./report-terminal-terminal-table.js";import{b as R}from"./core-escape.js";import"./core-process-child.js";import{m as _}from"./core-files.js";import{c as S}from"./core-package-root.js";import"./core-process-environment.js";import"./core-text.js";import"./core-group-by.js";import{b as x}from"./telemetry-recording-metrics.js";import"./core-units.js";import{a as v,e as g}from"./core-errors.js";import"./none.js";import{appendFileSync as ue,existsSync as k,readFileSync as V,writeFileSync as ce}from"node:fs";import h from"node:path";var Y="ubuntu-24.04",Q=/^(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z][A-Za-z0-9_.-]*$/i;function C(e){if(e===void 0)return{runsOn:Y,ownRunner:!1};let t=e.split(",").map(o=>o.trim()),r=t.find(o=>!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(o));if(r!==void 0)throw g("OPTION_INVALID",`--runner has "${r}", which is not a runner label`,"Give a label as in --runner gpu, or several as in --runner self-hosted,gpu.");let n=t.map(o=>Q.test(o)?o:JSON.stringify(o));return{runsOn:n.length===1?n[0]:`[${n.join(", ")}]`,ownRunner:!t.some(o=>/^(ubuntu|windows|macos)-/.test(o))}}function q(e){switch(e){case"public":case"private":return e;case void 0:return"unknown";default:throw g("OPTION_INVALID",`--visibility is "${e}"`,"It takes public or private.")}}import{readdirSync as X,readFileSync as ee}from"node:fs";import E from"node:path";var P=".github/workflows";async function te(e){let t=await d(e,["symbolic-ref","--quiet","--short","refs/remotes/origin/HEAD"]);if(t.ok&&t.stdout.startsWith("origin/"))return t.stdout.slice(7);for(let n of["main","master"])for(let o of[`refs/remotes/origin/${n}`,`refs/heads/${n}`])if((await d(e,["show-ref","--verify","--quiet",o])).ok)return n;let r=await d(e,["symbolic-ref","--quiet","--short","HEAD"]);return r.ok&&r.stdout!==""?r.stdout:"main"}function re(e){let t;try{t=X(E.join(e,P))}catch{return[]}return t.filter(r=>/\.ya?ml$/.test(r)).filter(r=>{try{let n=ee(E.join(e,P,r),"utf8");return/^\s*(?:-\s+)?uses:\s*["']?stormlog\/gate[/@]/m.test(n)}catch{return!1}}).sort()}function ne(e){let[t=""]=e.trim().split(`
`);return t===""?null:t.replace(/^fatal: /,"")}async function W(e){let{problem:t,top:r,prefix:n}=(await A(e)).checkout;return{top:r,directory:n.replace(/\/$/,""),inRepository:t===null,refused:t===null||/not a git repository/i.test(t)?null:ne(t),defaultBranch:await te(e),gated:re(r)}}function L(e){let{choices:t,inRepository:r,others:n,elsewhere:o,refused:i,program:c}=e,p=[`Put your command into stormlog-gate.yml and try it: ${c} run`,"Add what the scenarios need (Python, data) to memory-gate.yml and memory-baselines.yml where they are marked.",`Commit and merge into ${t.defaultBranch}: schedules, reports on forks and comments run from there only.`,`Protect ${t.defaultBranch} and start "Memory baselines" once by hand (Actions, Run workflow): the first five runs.`],a=[];if(r||a.push(`${i===null?"This is not a git repository":`git finds no repository here (${i})`}: put .github/workflows at the top of the one this directory goes into.`),o.length>0){let u=o.join(" and ");a.push(`${u} measures another directory and not this one: add a step with this working-directory and a gate-id of its own, or put all scenarios into one configuration (examples/monorepo).`)}return n.length>0&&a.push(`${n.join(", ")} uses the gate already; keep one of the two, or give them different gate-ids.`),t.ownRunner||a.push("The job measures on a machine without a GPU. --runner LABELS names yours."),t.ownRunner&&t.visibility!=="private"&&a.push("If the repository is public, code of unknown people runs on your runner: require approval for outside contributors first."),t.visibility==="unknown"&&a.push("--visibility private makes the comment's picture one that only your readers can open."),["","Next:",...p.map((u,m)=>`  ${m+1}. ${u}`),...a.length===0?[]:["",...a.map(u=>`note: ${u}`)]]}import{readFileSync as oe}from"node:fs";import se from"node:path";var w="actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",y="v1 # zizmor: ignore[unpinned-uses] replace v1 with the commit of a release to pin it";function T(e=S()){let t;try{t=JSON.parse(oe(se.join(e,"dist","release.json"),"utf8"))}catch{return y}if(typeof t!="object"||t===null)return y;let{commit:r,version:n}=t;return typeof r!="string"||!/^[0-9a-f]{40}$/.test(r)?y:typeof n=="string"&&/^\d+\.\d+\.\d+$/.test(n)?`${r} # v${n}`:r}function b(e){return JSON.stringify(e)}function N(e){return b(e.replace(/[*?+[\]!]/g,"\\$&"))}function M(e,t){return Object.entries(t).flatMap(([n,o])=>o===null?[]:[`${" ".repeat(e)}${n}: ${o}
`]).join("")}var B="Memory gate",ie=`    # One job per GPU at a time: a neighbour on the same card is measured too. A runner takes one job at a time, so one
    # runner per card is enough; docs/gpu-runners.md has containers and Kubernetes.
`,ae=`    # Anyone can open a pull request here, and its code runs on this machine: let pull requests of outside contributors
    # wait for approval (Settings, Actions), and use runners that are thrown away after one job.
`;function D(e){let t=e.ownRunner?ie+(e.visibility==="private"?"":ae):"",r=e.directory===""?null:b(e.directory);return`# Memory gate: measures every pull request against the stored baselines and keeps one comment on it.
name: ${B}

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
      - uses: ${w}
        with:
          fetch-depth: 0               # the merge base is run again before a red verdict
          persist-credentials: false
      # Install what your command needs here. Give this job no secrets.
      - uses: stormlog/gate@${e.pin}
        with:
${M(10,{"working-directory":r})}          comment: never               # the job below writes it
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
`}function F(e){let t=e.directory===""?"stormlog-gate.yml":`${e.directory}/stormlog-gate.yml`,r=e.directory===""?null:b(e.directory),n=M(10,{"working-directory":r,accept:"${{ inputs.accept }}"});return`# Memory baselines: measures the main branch every night and adds the session to the hidden ref that the gate reads.
name: Memory baselines

on:
  schedule:
    - cron: "17 3 * * *"               # UTC; not on the hour, when many start
  push:
    branches: [${N(e.defaultBranch)}]
    # A new scenario need not wait for the nightly run.
    paths: [${N(t)}]
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
      - uses: ${w}
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
      - uses: ${w}
        with:
          persist-credentials: false
      - uses: stormlog/gate/refresh@${e.pin}
        with:
${n}          stage: write
          timeout-minutes: 10
`}function G(e){return`# Memory report: the comment on pull requests of forks, whose own run may only read. It is safe to run with a writing token
# because it checks nothing out and runs nothing of the fork: it reads the numbers of that run, checks them, and renders
# everything itself.
name: Memory report

on:
  workflow_run: # zizmor: ignore[dangerous-triggers] no code, text or picture of the other run is used
    workflows: [${B}]
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
`}function z(e){return`# Memory accept: a comment \`/stormlog accept <difference> <reason>\` by someone with write permission accepts what the gate found,
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
`}var le=`# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 900                   # seconds for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is extrapolated to it
    # budget: { allocated: 12GiB }   # absolute limits on peaks, of any of these metrics:
    #   ${x.join(", ")}
    # repeats: auto                  # one run, more only to confirm a breach

# Where accepted measurements are. Without this line the Action reads the hidden ref that the nightly workflow writes,
# then baselines/ in the repository; the command line reads baselines/, which \`stormlog-gate baseline refresh\` writes.
# baseline: file:baselines

# policy:
#   unjudged: warn                   # exit status when nothing is comparable: fail, warn or pass
#   base-run: auto                   # re-run the base commit before failing: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`,K={"memory-gate.yml":D,"memory-baselines.yml":F,"memory-report.yml":G,"memory-accept.yml":z};function me(e,t,r){let n=Object.entries(K).map(([o,i])=>({path:h.join(e.top,".github","workflows",o),text:i(t)}));return[{path:h.join(r,"stormlog-gate.yml"),text:le},...n]}function U(e){let t=[...e.matchAll(/^\s*working-directory:\s*["']?(.*?)["']?\s*$/gm)].map(([,r=""])=>r);return new Set(t.length===0?[""]:t)}function pe({path:e,text:t}){if(!/uses: stormlog\/gate(?:\/refresh)?@/.test(t))return!0;try{let r=U(V(e,"utf8"));return[...U(t)].every(n=>r.has(n))}catch{return!0}}function he(e){let t="";return f(e,()=>{t=fe(k(e)?V(e,"utf8"):null),t!==""&&ue(e,t)}),t!==""}async function Ge({flags:e,text:t,console:r}){let n=process.cwd(),o=await W(n),i={...C(t.runner),visibility:q(t.visibility),defaultBranch:o.defaultBranch,directory:o.directory,pin:T()},c=[],p=[],a=[],u=s=>h.relative(n,s)||s;for(let s of me(o,i,n)){if(k(s.path)&&e.force!==!0){p.push(u(s.path)),pe(s)||a.push(u(s.path));continue}f(s.path,()=>{_(h.dirname(s.path)),ce(s.path,s.text)}),c.push(u(s.path))}let m=h.join(o.top,".gitignore"),$=(o.inRepository||k(m))&&he(m),H=new Set(Object.keys(K)),J=o.gated.filter(s=>!H.has(s)),Z=[...c.map(s=>`wrote  ${s}`),...$?[`added  the directories of evidence to ${u(m)}`]:[],...p.map(s=>`kept   ${s} (it exists; --force overwrites)`),...L({choices:i,inRepository:o.inRepository,others:J,elsewhere:a,refused:o.refused,program:I()})];for(let s of Z)r.print(R(s));return r.document({written:$?[...c,u(m)]:c,kept:p}),v.pass}var de=[l.bundle,l.recording,l.merged,l.demo,l.bisect,l.culprit,O,j];function ge(e,t){let r=e.trim().replace(/^(\*\*\/|\/)/,"").replace(/\/(\*\*?)?$/,"");return r===t||r==="stormlog-*"}function fe(e){let t=(e??"").split(/\r?\n/),r=de.filter(i=>!t.some(c=>ge(c,i)));if(r.length===0)return"";let n=e?.includes(`\r
`)?`\r
`:`
`;return[`${e===null||e===""?"":/\n$/.test(e)?n:n+n}# Evidence of Stormlog Gate`,...r.map(i=>`${i}/`),""].join(n)}export{le as CONFIG,fe as ignoredDirectories,Ge as init};
