import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var t="stormlog-lab",o="stormlog-lab-scale",s=["tiny","small","article"],a=["auto","cpu","cuda","mps","xpu"];export{t as a,o as b,s as c,a as d};
