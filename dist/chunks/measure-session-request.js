import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function o(e){return e.kind==="argv"?e.argv:["sh","-c",e.script]}function t(e){let r=e.reason,n=typeof r=="string"?r:r instanceof Error?r.message:"";return/\bSIG[A-Z0-9]+\b/.exec(n)?.[0]??"SIGTERM"}export{o as a,t as b};
