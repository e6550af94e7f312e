import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var r="stormlog-post",o="stormlog-uploaded";function a(t,e){t.saveState(r,JSON.stringify(e))}function n(t){t.saveState(o,"true")}function s(t){let e=t.getState(r);return e===""||t.getState(o)==="true"?null:JSON.parse(e)}export{a,n as b,s as c};
