import { join } from 'node:path'
import tseslint from 'typescript-eslint'
import { pageFolders, root } from './config/scripts/shared.mjs'

const configs = ['', ...pageFolders].map((folder) => join(folder, 'tsconfig.json'))

export default tseslint.config(
  { ignores: ['build/', 'node_modules/', '.tap/', '.cache/', 'data/'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeCheckedOnly],
    // Each program is made once: a third less time than `projectService` takes, which is for editors.
    languageOptions: { parserOptions: { project: configs, tsconfigRootDir: root } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/require-await': 'error',
    },
  },
  {
    // tap waits for its own promises, and what an answer holds is for the test to find out.
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-properties': ['error', { property: 'testdir', message: 'Take folderOf(t).' }],
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
)
