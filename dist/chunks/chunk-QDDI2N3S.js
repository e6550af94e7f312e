import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var e=["allocated","reserved","used","host","host_shared_once","host_unmapped","js_heap"],n=new Set(["host_shared_once","host_unmapped"]),r=[...e,"active","inactive","total","free","rss","anon","shmem","cgroup","driver","job","others","processes"];export{e as a,n as b,r as c};
