import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var l={schema_version:null,timestamp_ns:"timestampNs",event_type:"eventType",collector:"collector",sampling_interval_ms:"samplingIntervalMs",pid:"pid",host:"host",job_id:"jobId",rank:"rank",local_rank:"localRank",world_size:"worldSize",device_id:"deviceId",allocator_allocated_bytes:"allocatorAllocated",allocator_reserved_bytes:"allocatorReserved",allocator_active_bytes:"allocatorActive",allocator_inactive_bytes:"allocatorInactive",allocator_change_bytes:"allocatorChange",device_used_bytes:"deviceUsed",device_free_bytes:"deviceFree",device_total_bytes:"deviceTotal",context:"context",metadata:"metadata"},r=Object.keys(l),s=r.filter(e=>e.endsWith("_bytes"));function p(e){let t=s.map(n=>[l[n],e[n]]);return Object.fromEntries(t)}function i(e,t){let n=l[t];return n===null?2:e[n]}var a=(e,t)=>JSON.stringify(e,null,2).replaceAll(`
`,`
${t}`);function c(e){return`  {
${r.map(n=>{let o=i(e,n);return`    "${n}": ${typeof o=="bigint"?String(o):a(o,"    ")}`}).join(`,
`)}
  }`}function y(e){return e.length===0?`[]
`:`[
${e.map(c).join(`,
`)}
]
`}function d(e){if(e==null)return"";let t=typeof e=="object"?JSON.stringify(e):String(e);return/[",\r\n]/.test(t)?`"${t.replaceAll('"','""')}"`:t}function m(e){let t=e.map(n=>r.map(o=>d(i(n,o))).join(","));return`${[r.join(","),...t].join(`
`)}
`}export{r as a,s as b,p as c,y as d,m as e};
