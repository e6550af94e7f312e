import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function o(r){return r.kind==="argv"?r.argv:["sh","-c",r.script]}function t(r){let n=r.reason,e=typeof n=="string"?n:n instanceof Error?n.message:"";return/\bSIG[A-Z0-9]+\b/.exec(e)?.[0]??"SIGTERM"}export{o as a,t as b};
