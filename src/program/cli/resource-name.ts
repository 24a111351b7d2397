/** A valid Kubernetes resource name: at most 253 characters. */
export const RESOURCE_NAME =
  /^(?=.{1,253}$)[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/;
