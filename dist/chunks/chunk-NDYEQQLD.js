import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as i}from"./chunk-423FW5OI.js";import{a as t,b as n,d as o,e as r,f as e,g as s,h as a,i as m,j as p}from"./chunk-WH6WVWRB.js";var d={endGroup:a,error:o,getState:p,info:u=>e(i(u)),saveState:m,setOutput:n,setSecret:t,startGroup:s,warning:r};export{d as a};
