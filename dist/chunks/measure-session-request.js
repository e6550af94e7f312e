import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function o(r){return r.kind==="argv"?r.argv:["sh","-c",r.script]}function t(r){let e=r.reason,n=typeof e=="string"?e:e instanceof Error?e.message:"";return/\bSIG[A-Z0-9]+\b/.exec(n)?.[0]??"SIGTERM"}export{o as a,t as b};
