# A dump every night, beside the files that backup takes away.
variable "dump_keep" {
  type        = number
  default     = 3
  description = "days"
}
directory "/var/backups/postgres" {
  owner = "postgres"
  group = "postgres"
  mode  = "0700"
  after = [module.postgres.package.postgres]
}
file "/usr/local/sbin/pg-dump-all" {
  template = "templates/pg-dump-all.tmpl"
  vars     = { keep = var.dump_keep }
  mode     = "0755"
}
timer "pg-dump-all" {
  schedule = "*-*-* 00:30:00"
  command  = "/usr/local/sbin/pg-dump-all"
  user     = "postgres"
  after    = [file["/usr/local/sbin/pg-dump-all"], directory["/var/backups/postgres"]]
}
