import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function p(r,s){let e=new Map;for(let t of r){let o=s(t),n=e.get(o);n===void 0?e.set(o,[t]):n.push(t)}return e}export{p as a};
