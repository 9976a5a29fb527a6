# Files: hosts/ams/mail.yaml declares the target ams-mail. The directory is its site.
target "host" {
  for_each = {
    for f in fileset("hosts", "*/*.yaml") : replace(trimsuffix(f, ".yaml"), "/", "-") =>
    merge({ site = dirname(f), labels = {} }, yamldecode(file("hosts/${f}")))
  }
  labels = merge({ site = each.value.site }, each.value.labels)
  roles  = each.value.roles
}

# Directories: one firewall for each directory below hosts.
target "firewall" {
  for_each = toset([for f in fileset("hosts", "*/*.yaml") : dirname(f)])
  name     = "firewall-${each.key}"
  labels   = { role = "firewall", site = each.key }
}
