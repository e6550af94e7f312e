import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{d as a,e as b,f as c,g as d,h as e}from"./chunk-KX44C6WM.js";import"./chunk-ZEQR5G2E.js";import"./chunk-NYRTOUVY.js";export{d as GitHub,b as context,c as defaults,e as getOctokitOptions,a as getUserAgentWithOrchestrationId};
