import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{appendFileSync as f,statSync as u}from"node:fs";var i=9e5,c=`

…the rest is in the evidence bundle.
`;function a(e,t){if(Buffer.byteLength(e)<=t)return e;let r=t-Buffer.byteLength(c);if(r<=0)return"";let n=new TextDecoder().decode(Buffer.from(e).subarray(0,r),{stream:!0}),o=n.lastIndexOf(`
`),s=o>0?n.slice(0,o):n;return`${(s.match(/^ {0,3}```/gm)?.length??0)%2===1?s.slice(0,s.lastIndexOf("```")):s}${c}`}function m(e,t){if(!e)return!1;try{let r=u(e,{throwIfNoEntry:!1})?.size??0,n=a(`${t.trimEnd()}

`,i-r);return n===""?!1:(f(e,n),!0)}catch{return!1}}export{i as a,m as b};
