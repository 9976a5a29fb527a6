# The proxy in front of all sites of this host.
file "/etc/holding/proxy.conf" {
  content = join("", [
    for name, site in module.site : "http://${name}.${environment.domain}/ ${site.address}\n"
  ])
}
