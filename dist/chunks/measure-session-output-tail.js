import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{k as o}from"./core-files.js";import l from"node:path";var e=2048,c=t=>t.slice(t.lastIndexOf(`
`)+1).trim();function a(t){try{let r=o(l.join(t,"output.log"),e+1,"refuse"),n=r.toString("utf8"),i=r.length>e?n.slice(n.indexOf(`
`)+1):n;return i.trim()===""?null:i.trimEnd()}catch{return null}}export{c as a,a as b};
