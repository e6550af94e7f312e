import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{closeSync as i,fstatSync as s,openSync as u,readSync as f}from"node:fs";import a from"node:path";var c=2048;function p(e){try{let n=u(a.join(e,"output.log"),"r");try{let o=s(n).size,t=Buffer.alloc(Math.min(o,c));f(n,t,0,t.length,o-t.length);let r=t.toString("utf8"),l=o>c?r.slice(r.indexOf(`
`)+1):r;return l.trim()===""?null:l.trimEnd()}finally{i(n)}}catch{return null}}export{p as a};
