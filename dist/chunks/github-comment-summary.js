import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{h as o}from"./core-files.js";var f=9e5,c=`

…the rest is in the evidence bundle.
`;function i(n,r){if(Buffer.byteLength(n)<=r)return n;let e=r-Buffer.byteLength(c);if(e<=0)return"";let t=new TextDecoder().decode(Buffer.from(n).subarray(0,e),{stream:!0}),u=t.lastIndexOf(`
`),s=u>0?t.slice(0,u):t;return`${(s.match(/^ {0,3}```/gm)?.length??0)%2===1?s.slice(0,s.lastIndexOf("```")):s}${c}`}function a(n,r){if(!n)return!1;let e="";try{o(n,"append",t=>(e=i(`${r.trimEnd()}

`,f-t),e===""?null:e))}catch{return!1}return e!==""}export{f as a,a as b};
