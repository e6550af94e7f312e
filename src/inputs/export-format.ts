/** What a bundle can be written as. */
export const EXPORT_FORMATS = ["csv", "events-csv", "json", "parquet", "junit", "sarif", "html", "png"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
