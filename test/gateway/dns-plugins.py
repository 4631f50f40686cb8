"""Prints what a plugin of certbot reads of its credentials, and gives to the provider, as JSON.

Usage: dns-plugins.py PLUGIN FILE. Nothing is sent.
"""
import argparse
import importlib
import json
import os
import sys

plugin, path = sys.argv[1:]
os.environ["AWS_SHARED_CREDENTIALS_FILE"] = path
module = importlib.import_module(f"certbot_dns_{plugin}._internal.dns_{plugin}")
settings = {f"dns_{plugin}_credentials": path, f"dns_{plugin}_propagation_seconds": 0}
authenticator = module.Authenticator(argparse.Namespace(**settings), f"dns-{plugin}")
# With the plugin's own check.
authenticator._setup_credentials()

if plugin == "route53":
    found = authenticator.r53._request_signer._credentials
    given = [found.access_key, found.secret_key]
elif plugin == "google":
    from oauth2client.service_account import ServiceAccountCredentials

    given = [ServiceAccountCredentials.from_json_keyfile_name(path, []).service_account_email]
else:
    given = list(authenticator.credentials.confobj.values())
    # These plugins hand them to a library, by names of that library.
    names = {
        "ovh": ["auth_entrypoint", "auth_application_key", "auth_application_secret", "auth_consumer_key"],
        "linode": ["auth_token"],
        "dnsimple": ["auth_token"],
        "gehirn": ["auth_token", "auth_secret"],
        "sakuracloud": ["auth_token", "auth_secret"],
    }
    if plugin in names:
        provider = getattr(authenticator, f"_get_{plugin}_client")().provider
        given = [provider._get_provider_option(name) for name in names[plugin]]
print(json.dumps(given))
