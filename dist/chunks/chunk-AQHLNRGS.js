import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{closeSync as e,fstatSync as c,openSync as u,readSync as f}from"node:fs";import a from"node:path";var s=2048,p=t=>t.slice(t.lastIndexOf(`
`)+1).trim();function y(t){try{let o=u(a.join(t,"output.log"),"r");try{let r=c(o).size,n=Buffer.alloc(Math.min(r,s));f(o,n,0,n.length,r-n.length);let i=n.toString("utf8"),l=r>s?i.slice(i.indexOf(`
`)+1):i;return l.trim()===""?null:l.trimEnd()}finally{e(o)}}catch{return null}}export{p as a,y as b};
