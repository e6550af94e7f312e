process.on("SIGUSR1",()=>{});await import("../chunks/step-report.js");
