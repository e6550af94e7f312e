import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{j as b}from"./core-files.js";var h=".recent",C=`SLGRCN
`,r=16384,i=Buffer.alloc(0);function T(B){let t;try{t=b(B,64+r*48,"refuse")}catch{return i}if(t.length<64||t.toString("latin1",0,8)!==C)return i;let[f,e,s]=[8,16,24].map(E=>t.readBigUInt64LE(E));if(s!==BigInt(r)||f<e||f-e>s)return i;let n=Number(e%s),u=Number(f-e),m=(E,p)=>t.subarray(64+E*48,64+p*48),[N,l]=[m(n,Math.min(n+u,r)),m(0,n+u-r)],a=n+u>r?Buffer.concat([N,l]):N;return a.subarray(0,a.length-a.length%48)}export{h as a,T as b};
