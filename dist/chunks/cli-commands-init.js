import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as C}from"./cli-console-program.js";import{c as j}from"./git-repository-view.js";import"./git-fetch.js";import{g as d}from"./git-git.js";import"./core-process-child.js";import"./core-process-environment.js";import{a as O}from"./core-package-root.js";import{o as R}from"./core-files.js";import{a as A,b as I}from"./cli-lab-options.js";import{d as f}from"./cli-console-console.js";import"./report-terminal-terminal-table.js";import{c as m}from"./config-run-options.js";import{b as _}from"./core-escape.js";import{b as x}from"./telemetry-recording-metrics.js";import"./core-group-by.js";import"./core-units.js";import{a as $,e as g}from"./core-errors.js";import"./none.js";import{appendFileSync as Z,existsSync as k,readFileSync as G,writeFileSync as Y}from"node:fs";import p from"node:path";var F="ubuntu-24.04",U=/^(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z][A-Za-z0-9_.-]*$/i;function S(e){if(e===void 0)return{runsOn:F,ownRunner:!1};let t=e.split(",").map(o=>o.trim()),n=t.find(o=>!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(o));if(n!==void 0)throw g("OPTION_INVALID",`--runner has "${n}", which is not a runner label`,"Give a label as in --runner gpu, or several as in --runner self-hosted,gpu.");let r=t.map(o=>U.test(o)?o:JSON.stringify(o));return{runsOn:r.length===1?r[0]:`[${r.join(", ")}]`,ownRunner:!t.some(o=>/^(ubuntu|windows|macos)-/.test(o))}}function q(e){switch(e){case"public":case"private":return e;case void 0:return"unknown";default:throw g("OPTION_INVALID",`--visibility is "${e}"`,"It takes public or private.")}}import{readFileSync as V}from"node:fs";import H from"node:path";var w="actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",y="v1 # zizmor: ignore[unpinned-uses] replace v1 with the commit of a release to pin it";function P(e=O()){let t;try{t=JSON.parse(V(H.join(e,"dist","release.json"),"utf8"))}catch{return y}if(typeof t!="object"||t===null)return y;let{commit:n,version:r}=t;return typeof n!="string"||!/^[0-9a-f]{40}$/.test(n)?y:typeof r=="string"&&/^\d+\.\d+\.\d+$/.test(r)?`${n} # v${r}`:n}function b(e){return JSON.stringify(e)}function E(e){return b(e.replace(/[*?+[\]!]/g,"\\$&"))}function N(e,t){return Object.entries(t).flatMap(([r,o])=>o===null?[]:[`${" ".repeat(e)}${r}: ${o}
`]).join("")}var T="Memory gate",J=`    # One job per GPU at a time: a neighbour on the same card is measured too. A runner takes one job at a time, so one
    # runner per card is enough; docs/gpu-runners.md has containers and Kubernetes.
`,K=`    # Anyone can open a pull request here, and its code runs on this machine: let pull requests of outside contributors
    # wait for approval (Settings, Actions), and use runners that are thrown away after one job.
`;function L(e){let t=e.ownRunner?J+(e.visibility==="private"?"":K):"",n=e.directory===""?null:b(e.directory);return`# Memory gate: measures every pull request against the stored baselines and keeps one comment on it.
name: ${T}

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
${N(10,{"working-directory":n})}          comment: never               # the job below writes it
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
`}function W(e){let t=e.directory===""?"stormlog-gate.yml":`${e.directory}/stormlog-gate.yml`,n=e.directory===""?null:b(e.directory),r=N(10,{"working-directory":n,accept:"${{ inputs.accept }}"});return`# Memory baselines: measures the main branch every night and adds the session to the hidden ref that the gate reads.
name: Memory baselines

on:
  schedule:
    - cron: "17 3 * * *"               # UTC; not on the hour, when many start
  push:
    branches: [${E(e.defaultBranch)}]
    # A new scenario need not wait for the nightly run.
    paths: [${E(t)}]
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
${r}          stage: measure
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
${r}          stage: write
          timeout-minutes: 10
`}function M(e){return`# Memory report: the comment on pull requests of forks, whose own run may only read. It is safe to run with a writing token
# because it checks nothing out and runs nothing of the fork: it reads the numbers of that run, checks them, and renders
# everything itself.
name: Memory report

on:
  workflow_run: # zizmor: ignore[dangerous-triggers] no code, text or picture of the other run is used
    workflows: [${T}]
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
`}function B(e){return`# Memory accept: a comment \`/stormlog accept <difference> <reason>\` by someone with write permission accepts what the gate found,
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
`}var Q=`# yaml-language-server: $schema=https://raw.githubusercontent.com/stormlog/gate/v1/schema/config.schema.json
# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 15m                   # for one run
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
`,X={"memory-gate.yml":L,"memory-baselines.yml":W,"memory-report.yml":M,"memory-accept.yml":B};function ee(e,t,n){let r=Object.entries(X).map(([o,a])=>({path:p.join(e.top,".github","workflows",o),text:a(t)}));return[{path:p.join(n,"stormlog-gate.yml"),text:Q},...r]}function D(e){let t=[...e.matchAll(/^\s*working-directory:\s*["']?(.*?)["']?\s*$/gm)].map(([,n=""])=>n);return new Set(t.length===0?[""]:t)}function te({path:e,text:t}){if(!/uses: stormlog\/gate(?:\/refresh)?@/.test(t))return!0;try{let n=D(G(e,"utf8"));return[...D(t)].every(r=>n.has(r))}catch{return!0}}function ne(e){let t="";return f(e,()=>{t=se(k(e)?G(e,"utf8"):null),t!==""&&Z(e,t)}),t!==""}async function Ce({flags:e,text:t,console:n}){let r=process.cwd(),o=await ce(r),a={...S(t.runner),visibility:q(t.visibility),defaultBranch:o.defaultBranch,directory:o.directory,pin:P()},u=[],i=[],c=[],l=s=>p.relative(r,s)||s;for(let s of ee(o,a,r)){if(k(s.path)&&e.force!==!0){i.push(l(s.path)),te(s)||c.push(l(s.path));continue}f(s.path,()=>{R(p.dirname(s.path)),Y(s.path,s.text)}),u.push(l(s.path))}let h=p.join(o.top,".gitignore"),v=(o.inRepository||k(h))&&ne(h),z=[...u.map(s=>`wrote  ${s}`),...v?[`added  the directories of evidence to ${l(h)}`]:[],...i.map(s=>`kept   ${s} (it exists; --force overwrites)`),...ie({choices:a,inRepository:o.inRepository,elsewhere:c,refused:o.refused,program:C()})];for(let s of z)n.print(_(s));return n.document({written:v?[...u,l(h)]:u,kept:i}),$.pass}var re=[m.bundle,m.recording,m.merged,m.demo,m.bisect,m.culprit,A,I];function oe(e,t){let n=e.trim().replace(/^(\*\*\/|\/)/,"").replace(/\/(\*\*?)?$/,"");return n===t||n==="stormlog-*"}function se(e){let t=(e??"").split(/\r?\n/),n=re.filter(a=>!t.some(u=>oe(u,a)));if(n.length===0)return"";let r=e?.includes(`\r
`)?`\r
`:`
`;return[`${e===null||e===""?"":/\n$/.test(e)?r:r+r}# Evidence of Stormlog Gate`,...n.map(a=>`${a}/`),""].join(r)}function ie(e){let{choices:t,inRepository:n,elsewhere:r,refused:o,program:a}=e,u=[`Put your command into stormlog-gate.yml and try it: ${a} run`,"Add what the scenarios need (Python, data) to memory-gate.yml and memory-baselines.yml where they are marked.",`Commit and merge into ${t.defaultBranch}: schedules, reports on forks and comments run from there only.`,`Protect ${t.defaultBranch} and start "Memory baselines" once by hand (Actions, Run workflow): the first five runs.`],i=[];if(n||i.push(`${o===null?"This is not a git repository":`git finds no repository here (${o})`}: put .github/workflows at the top of the one this directory goes into.`),r.length>0){let c=r.join(" and ");i.push(`${c} measures another directory and not this one: add a step with this working-directory and a gate-id of its own, or put all scenarios into one configuration (examples/monorepo).`)}return t.ownRunner||i.push("The job measures on a machine without a GPU. --runner LABELS names yours."),t.ownRunner&&t.visibility!=="private"&&i.push("If the repository is public, code of unknown people runs on your runner: require approval for outside contributors first."),t.visibility==="unknown"&&i.push("--visibility private makes the comment's picture one that only your readers can open."),["","Next:",...u.map((c,l)=>`  ${l+1}. ${c}`),...i.length===0?[]:["",...i.map(c=>`note: ${c}`)]]}async function ae(e){let t=await d(e,["symbolic-ref","--quiet","--short","refs/remotes/origin/HEAD"]);if(t.ok&&t.stdout.startsWith("origin/"))return t.stdout.slice(7);for(let r of["main","master"])for(let o of[`refs/remotes/origin/${r}`,`refs/heads/${r}`])if((await d(e,["show-ref","--verify","--quiet",o])).ok)return r;let n=await d(e,["symbolic-ref","--quiet","--short","HEAD"]);return n.ok&&n.stdout!==""?n.stdout:"main"}function ue(e){let[t=""]=e.trim().split(`
`);return t===""?null:t.replace(/^fatal: /,"")}async function ce(e){let{problem:t,top:n,prefix:r}=(await j(e)).checkout;return{top:n,directory:r.replace(/\/$/,""),inRepository:t===null,refused:t===null||/not a git repository/i.test(t)?null:ue(t),defaultBranch:await ae(e)}}export{Q as CONFIG,se as ignoredDirectories,Ce as init};
