import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as o}from"./report-drawing-assets.js";import{c as a}from"./core-escape.js";import{createHash as p}from"node:crypto";function u({title:e,body:l,styles:c=[],scripts:n=[],data:r}){let i=[...c,o("timeline-page.css").toString("utf8")],m=["default-src 'none'",`script-src ${n.length===0?"'none'":n.map(s).join(" ")}`,`style-src ${i.map(s).join(" ")}`,"base-uri 'none'","form-action 'none'"].join("; "),d=r===void 0?[]:[JSON.stringify(r).replaceAll("<","\\u003c")];return`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${m}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${a(e)}</title>
${i.map(t=>`<style>${t}</style>`).join(`
`)}
</head>
<body>
<main>
${l}
</main>
${d.map(t=>`<script type="application/json" id="data">${t}</script>
`).join("")}${n.map(t=>`<script>${t}</script>
`).join("")}</body>
</html>
`}function s(e){return`'sha256-${p("sha256").update(e,"utf8").digest("base64")}'`}export{u as a};
