import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{i as e,j as o}from"./chunk-EZCBTIAY.js";var r="stormlog-post",n="stormlog-uploaded";function s(t){e(r,JSON.stringify(t))}function l(){e(n,"true")}function i(){let t=o(r);return t===""||o(n)==="true"?null:JSON.parse(t)}export{s as a,l as b,i as c};
