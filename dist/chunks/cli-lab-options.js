import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var s="stormlog-lab",t="stormlog-lab-scale",o=["steps","batch","epochs"],a=["tiny","small","article"],e=["auto","cpu","cuda","mps","xpu"];export{s as a,t as b,o as c,a as d,e};
