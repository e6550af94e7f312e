import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function i({CI:n,GITHUB_ACTIONS:e}){return e==="true"||n!==void 0&&n!==""&&n!=="false"&&n!=="0"}export{i as a};
